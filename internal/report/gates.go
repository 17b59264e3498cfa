package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"idemlab/results"
)

// gates is a line for each gate of each run, those that passed too: that a limit was looked at is worth knowing.
func gates(b *strings.Builder, runs []results.Run, s Style) {
	for n, r := range runs {
		for i, g := range r.Gates {
			if i == 0 {
				b.WriteString("\n")
			}
			fmt.Fprintf(b, "%s: %s\n", called(runs, n), field{mood: moodOfGate(g)}.paint("gate "+g.Expr+" "+cameTo(g), s))
		}
	}
}

// sweepJudges is the same for a grid of many runs: what passed, or is no regression, is counted, and the rest said.
func sweepJudges(b *strings.Builder, d results.Document, s Style) error {
	rest, passed, gated := slices.Clone(d.Runs), 0, 0
	same, compared := 0, 0
	for i := range rest {
		gated += len(rest[i].Gates)
		rest[i].Gates = slices.DeleteFunc(slices.Clone(rest[i].Gates), func(g results.Gate) bool { return g.Outcome == results.GatePassed })
		passed += len(d.Runs[i].Gates) - len(rest[i].Gates)
		if base := rest[i].Baseline; base != nil {
			compared++
			if base.Outcome == results.NoRegression {
				rest[i].Baseline = nil
				same++
			}
		}
	}
	gates(b, rest, s)
	if gated > 0 {
		fmt.Fprintf(b, "\ngates: %d of %d passed\n", passed, gated)
	}
	if err := baselines(b, rest, s); err != nil {
		return err
	}
	if compared > 0 {
		fmt.Fprintf(b, "\nbaseline: no regression in %d of %s\n", same, count(compared, "cell"))
	}
	return nil
}

// called is the name of a run among the others of its document: by strategy, in a grid by cell, and where that is not enough, as
// where one strategy was run with many settings, by what was asked for.
func called(runs []results.Run, n int) string {
	r := runs[n]
	if r.Hazard != "" {
		return subject(r) + ", " + Cell(r)
	}
	for i, other := range runs {
		if i != n && subject(other) == subject(r) {
			return subject(r) + ", " + asked(r)
		}
	}
	return subject(r)
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

// judges are the rows of a table that stand only where a run was judged by more than its claim.
func judges(runs []results.Run) []func(results.Run) field {
	var rows []func(results.Run) field
	if slices.ContainsFunc(runs, func(r results.Run) bool { return len(r.Gates) > 0 }) {
		rows = append(rows, func(r results.Run) field { return field{"gates", gateLines(r), plain} })
	}
	if slices.ContainsFunc(runs, func(r results.Run) bool { return r.Baseline != nil }) {
		rows = append(rows, func(r results.Run) field { return field{"baseline", baselineLine(r), plain} })
	}
	return rows
}

// gateConclusion ends the last line where gates or a baseline decided anything: which failed, and which could not be judged.
func gateConclusion(d results.Document) string {
	gatesOf := func(o results.GateOutcome) []string {
		var which []string
		for _, r := range d.Runs {
			for _, g := range r.Gates {
				if g.Outcome == o && r.Status == results.Complete {
					which = append(which, subject(r)+" "+g.Expr)
				}
			}
		}
		return few(which)
	}
	text := ""
	for _, part := range []struct {
		words string
		which []string
	}{
		{"GATE FAILED", gatesOf(results.GateFailed)}, {"REGRESSION", regressed(d.Runs)},
		{"gate not measured", gatesOf(results.GateNotMeasured)}, {"not compared", notCompared(d.Runs)},
	} {
		if len(part.which) > 0 {
			text += fmt.Sprintf("; %s: %s", part.words, strings.Join(part.which, ", "))
		}
	}
	return text
}

// few keeps the last line short; the lines above have them all.
func few(names []string) []string {
	const most = 4
	if n := len(names); n > most {
		return append(names[:most:most], fmt.Sprintf("%d more", n-most))
	}
	return names
}

// claimCode is the document's exit code by the claims alone, before gates and baselines had their say. That something did not come to
// its end they do not bring.
func claimCode(d results.Document) int {
	if !slices.Contains([]int{0, 1, 4}, d.ExitCode) || len(d.Runs) == 0 {
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
