package report

import (
	"fmt"
	"strconv"
	"strings"

	"idemlab/results"
)

// gates is a line for each gate of each run, those that passed too: that a limit was looked at is worth knowing.
func gates(b *strings.Builder, runs []results.Run, s Style) {
	for _, r := range runs {
		for i, g := range r.Gates {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(b, "%s: %s\n", called(r), field{mood: moodOfGate(g)}.paint("gate "+g.Expr+" "+cameTo(g), s))
		}
	}
}

// called is the name of a run among others.
func called(r results.Run) string {
	if r.Hazard != "" {
		return r.Strategy + ", " + Cell(r)
	}
	return r.Strategy
}

func moodOfGate(g results.Gate) mood {
	return map[results.GateOutcome]mood{results.GatePassed: good, results.GateFailed: bad, results.GateNotMeasured: unsure}[g.Outcome]
}

// cameTo says what came of a gate: "failed: 312.4 > 250".
func cameTo(g results.Gate) string {
	switch g.Outcome {
	case results.GateFailed:
		return fmt.Sprintf("failed: %s %s %s", scalar(g.Value), g.Op, scalar(g.Limit))
	case results.GatePassed:
		return fmt.Sprintf("passed: %s", scalar(g.Value))
	}
	return "not measured: " + g.Reason
}

// scalar prints a value as it stands in the document, without an exponent.
func scalar(v any) string {
	if n, ok := v.(float64); ok {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// gateLines are a run's gates in its column of a table.
func gateLines(r results.Run) []string {
	var lines []string
	for _, g := range r.Gates {
		lines = append(lines, g.Expr+" "+cameTo(g))
	}
	if len(lines) == 0 {
		return []string{absent}
	}
	return lines
}

func anyGates(runs []results.Run) bool {
	for _, r := range runs {
		if len(r.Gates) > 0 {
			return true
		}
	}
	return false
}

// gateConclusion ends the last line where gates decided anything: which failed, and which could not be judged.
func gateConclusion(d results.Document) string {
	text := ""
	for _, part := range []struct {
		words   string
		outcome results.GateOutcome
	}{{"GATE FAILED", results.GateFailed}, {"gate not measured", results.GateNotMeasured}} {
		var which []string
		for _, r := range d.Runs {
			for _, g := range r.Gates {
				if g.Outcome == part.outcome && r.Status == results.Complete {
					which = append(which, r.Strategy+" "+g.Expr)
				}
			}
		}
		if n := len(which); n > mostGates {
			which = append(which[:mostGates], fmt.Sprintf("%d more", n-mostGates))
		}
		if len(which) > 0 {
			text += fmt.Sprintf("; %s: %s", part.words, strings.Join(which, ", "))
		}
	}
	return text
}

// mostGates bounds what the last line names; the lines above have them all.
const mostGates = 4

// claimCode is the document's exit code by the claims alone, before gates had their say. Codes that mean that something did not come to its
// end are nothing that a gate brings.
func claimCode(d results.Document) int {
	if d.ExitCode != 1 && d.ExitCode != 4 || len(d.Runs) == 0 {
		return d.ExitCode
	}
	code, changed := 0, false
	for _, r := range d.Runs {
		changed = changed || r.ClaimExitCode != nil
		if c := r.ClaimCode(); c == 1 || code == 0 {
			code = c
		}
	}
	if !changed {
		return d.ExitCode
	}
	return code
}
