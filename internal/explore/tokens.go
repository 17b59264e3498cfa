package explore

import (
	"strings"
	"unicode"
)

// tokenize cuts SQL into lower-case words, quoted names without their quotes, and single signs. Comments, strings, numbers
// and parameters are left out: they name no table.
func tokenize(sql string) []string {
	var out []string
	for rest := sql; rest != ""; {
		token, n := next(rest)
		if token != "" {
			out = append(out, token)
		}
		rest = rest[n:]
	}
	return out
}

// next is the token at the front, empty where none counts, and its length in the text.
func next(s string) (token string, n int) {
	switch {
	case strings.HasPrefix(s, "--"):
		if i := strings.IndexAny(s, "\r\n"); i >= 0 {
			return "", i + 1
		}
		return "", len(s)
	case strings.HasPrefix(s, "/*"):
		return "", comment(s)
	case s[0] == '\'':
		return "", quoted(s, '\'')
	case s[0] == '"':
		n = quoted(s, '"')
		return identifier(strings.ReplaceAll(strings.TrimSuffix(s[1:n], `"`), `""`, `"`)), n
	case s[0] == '$':
		return "", dollar(s)
	}
	n = strings.IndexFunc(s, func(r rune) bool { return !wordRune(r) && r != '$' }) // not the first, or it would be a parameter
	if n < 0 {
		n = len(s)
	}
	if n > 0 {
		w := strings.ToLower(s[:n])
		if w[0] >= '0' && w[0] <= '9' {
			return "", n
		}
		if w == "u" && strings.HasPrefix(s[n:], `&"`) {
			return undecoded, n + 1 + quoted(s[n+1:], '"')
		}
		if w == "e" && strings.HasPrefix(s[n:], "'") {
			return "", n + escaped(s[n:])
		}
		return identifier(w), n
	}
	for i := range s[1:] { // the length of one rune
		return sign(s[:i+1]), i + 1
	}
	return sign(s), len(s)
}

// identifier is a name as PostgreSQL keeps it: in at most 63 bytes (NAMEDATALEN - 1).
func identifier(name string) string {
	const most = 63
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "")
}

// undecoded stands for U&"…", a name with escapes in it.
const undecoded = `u&""`

func sign(s string) string { return strings.TrimSpace(s) }

func wordRune(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func word(t string) bool { return t != "" && wordRune([]rune(t)[0]) }

func until(s, end string, from int) int {
	if i := strings.Index(s[from:], end); i >= 0 {
		return from + i + len(end)
	}
	return len(s)
}

// comment is the length of a comment; they nest.
func comment(s string) int {
	depth := 0
	for i := 0; i+1 < len(s); i++ {
		switch s[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
			if depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

// quoted is the length of '…' or "…"; a doubled quote is part of it, and shows as two in a row.
func quoted(s string, quote byte) int {
	for i := 1; i < len(s); i++ {
		if s[i] == quote {
			if i+1 < len(s) && s[i+1] == quote {
				i++
				continue
			}
			return i + 1
		}
	}
	return len(s)
}

// escaped is the length of a string in which \' does not end it.
func escaped(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '\'':
			if !strings.HasPrefix(s[i+1:], "'") {
				return i + 1
			}
			i++
		}
	}
	return len(s)
}

// dollar is the length of $1, or of $tag$…$tag$.
func dollar(s string) int {
	n := len(s)
	if i := strings.IndexFunc(s[1:], func(r rune) bool { return !wordRune(r) }); i >= 0 {
		n = 1 + i
	}
	if n < len(s) && s[n] == '$' && (n == 1 || s[1] > '9') {
		tag := s[:n+1]
		return until(s, tag, len(tag))
	}
	return n
}
