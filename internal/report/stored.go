package report

import (
	"fmt"
	"slices"
	"strings"

	"idemlab/results"
)

func storedHeading(b *strings.Builder, r results.Run) {
	fmt.Fprintf(b, "%s, %s: a first attempt, its retry, a reconciler, and the same charge under a fresh key; seed %d\n", r.Engine, r.Scenario, r.Seed)
}

// storedFields are what came of each way in which the first attempt ended.
func storedFields(r results.Run) []field {
	list := []field{{"stores", []string{r.Stored.Policy}, plain}}
	for _, outcome := range []string{"approved", "declined", "error-before", "error-after", "lost-reply"} {
		f := field{outcome, []string{absent}, plain}
		if i := slices.IndexFunc(r.Stored.Cells, func(c results.StoredCell) bool { return c.Outcome == outcome }); i >= 0 {
			f = storedField(r.Stored.Cells[i])
		}
		list = append(list, f)
	}
	return append(list,
		field{"one key", []string{doubleCharged(r)}, moodOfCount(r)},
		field{"control", []string{control(r)}, plain},
		field{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)},
	)
}

func storedField(c results.StoredCell) field {
	retry := fmt.Sprintf("told %d, retry %d", c.First.HTTP, c.Retry.HTTP)
	if c.SameBytes {
		retry += " again"
	}
	f := field{label: c.Outcome, values: []string{retry, count(c.Captures, "capture")}}
	if c.Reconciled != c.Retry {
		f.values = append(f.values, fmt.Sprintf("reconciled: %d", c.Reconciled.HTTP))
	}
	fresh := fmt.Sprintf("fresh key: %d", c.Fresh.HTTP)
	if c.Outcome != "approved" && c.Captures+c.FreshCaptures > 1 { // who was told that it was approved has another wish
		fresh += fmt.Sprintf(", %s in all", count(c.Captures+c.FreshCaptures, "capture"))
		f.mood = bad
	}
	f.values = append(f.values, fresh)
	if c.Captures > 1 {
		f.mood = bad
	}
	return f
}

// columns says in what type an answer comes back as it was, from whichever run has it.
func columns(b *strings.Builder, runs []results.Run) {
	for _, r := range runs {
		if r.Stored == nil || len(r.Stored.Columns) == 0 {
			continue
		}
		line := func(what string, cell func(results.StoredColumn) string) {
			text := fmt.Sprintf("%-36s", what)
			for _, c := range r.Stored.Columns {
				text += fmt.Sprintf(" %-13s", cell(c))
			}
			b.WriteString(strings.TrimRight(text, " ") + "\n")
		}
		b.WriteString("\n")
		line("an answer, stored and read back", func(c results.StoredColumn) string { return c.Type })
		for i, a := range r.Stored.Columns[0].Cases {
			line("  "+a.What, func(c results.StoredColumn) string { return cameBack(c.Cases[i]) })
		}
	}
}

func cameBack(a results.StoredAnswer) string {
	switch {
	case a.SameBytes:
		return "same bytes"
	case a.SQLState != "":
		return "refused " + a.SQLState
	}
	return "CHANGED"
}
