package spec

import (
	"slices"
	"strings"
)

// marker begins an invariant in a comment.
const marker = "invariant:"

// isInvariant says whether the text begins with an SQL comment that states an invariant. isolationtester knows such comments
// within blocks only; outside of one, write # instead where it shall read the file too.
func isInvariant(text string) bool {
	rest, ok := strings.CutPrefix(text, "--")
	return ok && strings.HasPrefix(strings.TrimLeft(rest, space), marker)
}

// note keeps the query of a comment that states an invariant. Writing a spec states all of them at the top, and those within
// blocks again: the same query twice is one.
func (s *scanner) note(comment string) {
	query, ok := strings.CutPrefix(strings.TrimSpace(comment), marker)
	if !ok {
		return
	}
	query = strings.TrimRight(strings.TrimSpace(query), "; \t\f")
	if query != "" && !slices.Contains(s.invariants, query) {
		s.invariants = append(s.invariants, query)
	}
}
