package scenarios

import "strings"

// StepOf returns the domain step that a statement names in the comment it starts with: "claim" for
// "/* claim */ INSERT …", and "" where it names none. Timelines and schedules are written in these names, so that they still
// mean something after the code around the statement has changed.
func StepOf(sql string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(sql), "/*")
	if !ok {
		return ""
	}
	name, _, ok := strings.Cut(rest, "*/")
	if !ok {
		return ""
	}
	return strings.TrimSpace(name)
}
