package report

import (
	"fmt"
	"strings"

	"idemlab/results"
)

func neighboursHeading(b *strings.Builder, r results.Run) {
	fmt.Fprintf(b, "%s, %s: two requests, one after the other; what is the second taken for?\n", r.Engine, r.Scenario)
}

// neighboursFields are a row for each pair.
func neighboursFields(r results.Run) []field {
	list := []field{}
	for _, p := range r.Neighbours.Pairs {
		text, m := "charged", good
		switch {
		case p.Recognised && p.Same:
			text = "recognised"
		case p.Recognised:
			text, m = "TOLD ANOTHER'S ANSWER", bad
		case p.Same:
			text, m = "CHARGED AGAIN", bad
		}
		list = append(list, field{p.Pair, []string{text}, m})
	}
	return append(list, field{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)})
}

// constraints spells out what the columns' names stand for.
func constraints(b *strings.Builder, runs []results.Run) {
	first := true
	for _, r := range runs {
		if r.Neighbours == nil {
			continue
		}
		if first {
			b.WriteString("\n")
			first = false
		}
		fmt.Fprintf(b, "%s: %s\n", r.Strategy, r.Neighbours.Constraint)
	}
}
