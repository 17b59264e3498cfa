package service

import (
	"fmt"
	"strings"
)

// KeySyntax is how an Idempotency-Key may be written.
type KeySyntax string

// The draft makes the header a String of RFC 9651, which has quotes around it. Most clients send the key bare, as Stripe's do.
const (
	Lenient KeySyntax = "lenient" // with quotes or without: "k" and k are the same key
	Strict  KeySyntax = "strict"  // with quotes only
)

// KeySyntaxes lists them.
func KeySyntaxes() []KeySyntax { return []KeySyntax{Lenient, Strict} }

// mostKey is the length of a key that Stripe takes, in characters. PostgreSQL's index would take more (about 2,700 bytes), and answer
// with an error beyond.
const mostKey = 255

// readKey reads the key from the header's values, one for each time that the header was sent.
func readKey(values []string, syntax KeySyntax) (string, *problem) {
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return "", &problem{kind: "key-missing", Status: 400, Title: "Idempotency-Key is missing",
			Detail: `this operation needs it: one new key for each charge, the same for all its retries, such as Idempotency-Key: "8e03978e-40d5-43dd-bc93-6894a57f9324"`}
	}
	key, why := parseKey(values, syntax)
	switch {
	case why != "":
	case key == "":
		why = "it is empty"
	case len(key) > mostKey: // its characters are ASCII
		why = fmt.Sprintf("it has %d characters, and %d is the most", len(key), mostKey)
	default:
		return key, nil
	}
	return "", &problem{kind: "key-invalid", Status: 400, Title: "Idempotency-Key is not valid", Detail: why}
}

// parseKey returns the key, or why it is none.
func parseKey(values []string, syntax KeySyntax) (key, why string) {
	if len(values) > 1 {
		return "", fmt.Sprintf("it was sent %d times, and names one charge", len(values))
	}
	v := values[0]
	switch {
	case strings.HasPrefix(v, `"`):
		return unquote(v)
	case syntax == Strict:
		return "", `it must stand in double quotes, as a String of RFC 9651: Idempotency-Key: "…"`
	}
	for i := range len(v) {
		switch c := v[i]; {
		case c <= ' ' || c >= 0x7f:
			return "", fmt.Sprintf("the byte 0x%02x cannot stand in a key without quotes: use letters, digits and signs of ASCII", c)
		case c == ',' || c == '"':
			// A comma is what a proxy puts between two headers of one name: this may be two keys.
			return "", fmt.Sprintf("the character %c cannot stand in a key without quotes", c)
		}
	}
	return v, ""
}

// unquote reads a String (RFC 9651, section 3.3.3 and 4.2.5): printable ASCII in quotes, with a backslash before a quote or a
// backslash. The draft defines no parameters for it.
func unquote(v string) (key, why string) {
	var b strings.Builder
	for i := 1; i < len(v); i++ {
		switch c := v[i]; {
		case c == '"':
			if rest := v[i+1:]; rest != "" {
				return "", fmt.Sprintf("%q stands behind its closing quote", rest)
			}
			return b.String(), ""
		case c == '\\':
			i++
			if i == len(v) || v[i] != '"' && v[i] != '\\' {
				return "", `a backslash stands in it that is before neither a quote nor a backslash`
			}
			b.WriteByte(v[i])
		case c < ' ' || c >= 0x7f:
			return "", fmt.Sprintf("the byte 0x%02x cannot stand in a key: use letters, digits and signs of ASCII", c)
		default:
			b.WriteByte(c)
		}
	}
	return "", "its closing quote is missing"
}

// quoteKey is the opposite of unquote.
func quoteKey(key string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key) + `"`
}
