package spec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// check holds what the grammar does not: names must be unique and known, and a step cannot wait for its own session. lines says
// where in the text things stand; a Spec that no text was read for has none.
func (s Spec) check(lines map[string]int) error {
	if len(s.Sessions) == 0 {
		return errors.New("a spec needs a session")
	}
	seen := map[string]bool{}
	for _, session := range s.Sessions {
		if len(session.Steps) == 0 {
			return fmt.Errorf("session %s has no step", quote(session.Name))
		}
		for _, step := range session.Steps {
			if seen[step.Name] {
				return fmt.Errorf("duplicate step name %s", quote(step.Name))
			}
			seen[step.Name] = true
		}
	}
	places := s.places()
	for i, p := range s.Permutations {
		if err := p.check(places); err != nil {
			if line := lines[permutationKey(i)]; line > 0 {
				return fmt.Errorf("line %d: %w", line, err)
			}
			return fmt.Errorf("permutation %d: %w", i+1, err)
		}
	}
	return nil
}

func (p Permutation) check(places map[string]place) error {
	if len(p) == 0 {
		return errors.New("it has no step")
	}
	inside := map[string]bool{}
	for _, t := range p {
		if _, ok := places[t.Step]; !ok {
			return fmt.Errorf("undefined step %s", quote(t.Step))
		}
		inside[t.Step] = true
	}
	for _, t := range p {
		for _, m := range t.Markers {
			switch {
			case m.Kind == Once:
			case !inside[m.Step]:
				return fmt.Errorf("step %s waits for step %s, which is not in this permutation", quote(t.Step), quote(m.Step))
			case places[m.Step].session == places[t.Step].session:
				return fmt.Errorf("step %s cannot wait for step %s of its own session", quote(t.Step), quote(m.Step))
			}
		}
	}
	return nil
}

// Unused lists the steps that no named permutation takes: most often one was forgotten.
func (s Spec) Unused() []string {
	if len(s.Permutations) == 0 {
		return nil
	}
	used := map[string]bool{}
	for _, p := range s.Permutations {
		for _, t := range p {
			used[t.Step] = true
		}
	}
	var unused []string
	for _, session := range s.Sessions {
		for _, step := range session.Steps {
			if !used[step.Name] {
				unused = append(unused, step.Name)
			}
		}
	}
	return unused
}

func stepKey(name string) string  { return "step " + name }
func permutationKey(i int) string { return "permutation " + strconv.Itoa(i) }
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// quote writes a name as the format has it: bare where it can be.
func quote(name string) string {
	bare := name != "" && !isKeyword(name) && startsWord(name[0]) &&
		strings.IndexFunc(name, func(r rune) bool { return r < 0x80 && !startsWord(byte(r)) && !isDigit(byte(r)) && r != '$' }) < 0
	if bare {
		return name
	}
	return `"` + strings.ReplaceAll(name, `"`, `""`) + `"`
}
