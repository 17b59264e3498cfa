package report

import (
	"fmt"
	"strings"

	"idemlab/results"
)

// isMutants says whether the document is of strategies broken on purpose.
func isMutants(d results.Document) bool { return len(d.Runs) > 0 && d.Runs[0].Mutant != "" }

// mutants lists what became of each mutant, and what gave it away.
func mutants(b *strings.Builder, d results.Document, s Style) {
	n := map[results.Fate]int{}
	for _, r := range d.Runs {
		n[r.Fate]++
		fmt.Fprintf(b, "%-22s %-16s %s\n", r.Strategy, r.Mutant, field{mood: moodOfFate(r.Fate)}.paint(string(r.Fate), s))
		for _, line := range gaveAway(r) {
			fmt.Fprintf(b, "%-22s %s\n", "", line)
		}
	}
	fmt.Fprintf(b, "\nverdict: %d killed, %d noticed, %d survived", n[results.Killed], n[results.Noticed], n[results.Survivor])
	if n[results.NotApplicable] > 0 {
		fmt.Fprintf(b, " (%d not applicable)", n[results.NotApplicable])
	}
	switch d.ExitCode {
	case 130:
		b.WriteString("; interrupted")
	case 3:
		b.WriteString("; not all could be run")
	}
	b.WriteString("\n")
	if n[results.Survivor] > 0 {
		b.WriteString("a survivor is what the guarantee does not stand on, or what shows only with faults or with more clients than these\n")
	}
}

func moodOfFate(f results.Fate) mood {
	return map[results.Fate]mood{results.Killed: good, results.Noticed: good, results.Survivor: bad}[f]
}

func gaveAway(r results.Run) []string {
	if r.Explore == nil || r.Explore.ShortestViolation == nil {
		first, _, _ := strings.Cut(r.Reason, "\n")
		if first == "" {
			first = "nothing was found"
		}
		return []string{first}
	}
	v := r.Explore.ShortestViolation
	return []string{fmt.Sprintf("%s by %s (%s)", v.Anomaly, v.Short, v.Detail)}
}
