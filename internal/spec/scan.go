package spec

import (
	"fmt"
	"strconv"
	"strings"
)

// kind is what sort of token it is.
type kind int

const (
	end kind = iota
	word
	quoted
	block
	number
	punct
)

// token is one piece of the text.
type token struct {
	kind kind
	text string // without quotes or braces
	line int    // where it begins
}

// space is what PostgreSQL's scanner passes over within a line, and trims at both ends of a block. A line's end in a block
// belongs to the SQL, and shows in the output.
const space = " \t\r\f"

// scanner cuts the text into tokens as specscanner.l does: a block ends at the first closing brace, also within SQL's quotes,
// and SQL is otherwise not looked at.
type scanner struct {
	text       string
	at, line   int
	invariants []string
}

func (s *scanner) next() (token, error) {
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case c == '\n':
			s.line++
			s.at++
		case strings.IndexByte(space, c) >= 0:
			s.at++
		case c == '#':
			s.note(s.restOfLine()[1:])
		case c == '-' && isInvariant(s.text[s.at:]):
			s.note(s.restOfLine()[2:])
		case c == '"':
			return s.quoted()
		case c == '{':
			return s.block()
		case isDigit(c):
			return s.number()
		case startsWord(c):
			return s.take(word, func(c byte) bool { return startsWord(c) || isDigit(c) || c == '$' }), nil
		case strings.IndexByte(",()*", c) >= 0:
			s.at++
			return token{punct, string(c), s.line}, nil
		default:
			return token{}, s.errorf("unexpected character %q", s.text[s.at:s.at+1])
		}
	}
	return token{kind: end, line: s.line}, nil
}

// restOfLine passes over a comment. A carriage return ends it, as it does in PostgreSQL.
func (s *scanner) restOfLine() string {
	rest := s.text[s.at:]
	if n := strings.IndexAny(rest, "\n\r"); n >= 0 {
		rest = rest[:n]
	}
	s.at += len(rest)
	return rest
}

func (s *scanner) take(k kind, more func(byte) bool) token {
	from := s.at
	for s.at < len(s.text) && more(s.text[s.at]) {
		s.at++
	}
	return token{k, s.text[from:s.at], s.line}
}

func (s *scanner) number() (token, error) {
	t := s.take(number, isDigit)
	if _, err := strconv.ParseInt(t.text, 10, 32); err != nil {
		return t, s.errorf("number %s is too large", t.text)
	}
	return t, nil
}

// quoted reads a name in double quotes; two of them stand for one.
func (s *scanner) quoted() (token, error) {
	var name strings.Builder
	for s.at++; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; {
		case c == '\n':
			return token{}, s.errorf("unexpected newline in quoted identifier")
		case c == '"' && strings.HasPrefix(s.text[s.at+1:], `"`):
			s.at++
			name.WriteByte('"')
		case c == '"':
			s.at++
			return token{quoted, name.String(), s.line}, nil
		default:
			name.WriteByte(c)
		}
	}
	return token{}, s.errorf("unterminated quoted identifier")
}

func (s *scanner) block() (token, error) {
	body, _, closed := strings.Cut(s.text[s.at+1:], "}")
	if !closed {
		return token{}, s.errorf("unterminated sql block")
	}
	t := token{block, strings.Trim(body, space), s.line}
	for line := range strings.Lines(body) {
		if line = strings.TrimSpace(line); isInvariant(line) {
			s.note(line[2:])
		}
	}
	s.at += len(body) + 2
	s.line += strings.Count(body, "\n")
	return t, nil
}

func (s *scanner) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", s.line, fmt.Sprintf(format, args...))
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func startsWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
