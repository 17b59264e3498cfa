package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
)

// String is the permutation as a line that can be pasted into a spec.
func (p Permutation) String() string {
	var b strings.Builder
	b.WriteString("permutation")
	for _, t := range p {
		b.WriteString(" " + t.String())
	}
	return b.String()
}

// String is the step with its markers, as a permutation has it.
func (t Turn) String() string {
	if len(t.Markers) == 0 {
		return quote(t.Step)
	}
	var all []string
	for _, m := range t.Markers {
		all = append(all, m.String())
	}
	return quote(t.Step) + "(" + strings.Join(all, ", ") + ")"
}

// String is the marker without its parentheses.
func (m Marker) String() string {
	switch m.Kind {
	case Once:
		return "*"
	case UntilNotices:
		return fmt.Sprintf("%s notices %d", quote(m.Step), m.Notices)
	default:
		return quote(m.Step)
	}
}

// Write prints the spec so that Parse and isolationtester read it. What the format cannot say is an error, and nothing is written:
// a closing brace within SQL ends the block, and a name has no line end.
func Write(w io.Writer, s Spec) error {
	f := &formatter{}
	for _, query := range s.Invariants {
		f.invariant(query)
	}
	if len(s.Invariants) > 0 {
		f.WriteString("\n")
	}
	for _, sql := range s.Setup {
		f.block("setup", sql)
	}
	if s.Teardown != "" {
		f.block("teardown", s.Teardown)
	}
	for _, session := range s.Sessions {
		f.session(session)
	}
	if len(s.Permutations) > 0 {
		f.WriteString("\n")
	}
	for _, p := range s.Permutations {
		for _, t := range p {
			f.name(t.Step) // markers name steps too, and check wants those to be in the permutation
		}
		f.WriteString(p.String() + "\n")
	}
	if err := errors.Join(s.check(nil), f.err); err != nil {
		return err
	}
	_, err := w.Write(f.Bytes())
	return err
}

// formatter collects the text, and the first thing that the format cannot say.
type formatter struct {
	bytes.Buffer
	err error
}

func (f *formatter) session(s Session) {
	f.WriteString("\nsession " + f.name(s.Name) + "\n")
	if s.Setup != "" {
		f.block("setup", s.Setup)
	}
	for _, step := range s.Steps {
		f.block("step "+f.name(step.Name), step.SQL)
	}
	if s.Teardown != "" {
		f.block("teardown", s.Teardown)
	}
}

func (f *formatter) block(keyword, sql string) {
	sql = strings.Trim(sql, space)
	if strings.ContainsAny(sql, "}\x00") {
		f.fail("%s: the spec format has no way to write a closing brace within SQL: %s", keyword, sql)
	}
	fmt.Fprintf(f, "%s { %s }\n", keyword, sql)
}

func (f *formatter) name(name string) string {
	if strings.ContainsAny(name, "\n\x00") {
		f.fail("the name %q has a line end, which the spec format has no way to write", name)
	}
	return quote(name)
}

func (f *formatter) invariant(query string) {
	if strings.ContainsAny(query, "\n\r\x00") {
		// A query over several lines is the same on one, unless a comment in it runs to the end of its line.
		if strings.Contains(query, "--") {
			f.fail("an invariant of several lines with a comment in it does not fit into one line of comment: %s", query)
		}
		query = strings.Join(strings.Fields(query), " ")
	}
	fmt.Fprintf(f, "# %s %s\n", marker, query)
}

func (f *formatter) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf(format, args...)
	}
}
