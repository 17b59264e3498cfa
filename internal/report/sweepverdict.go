package report

import (
	"fmt"
	"slices"
	"strings"

	"idemlab/results"
)

// tally is how a strategy's cells came out, and where first.
type tally struct {
	planned  int
	n        map[results.Verdict]int
	first    map[results.Verdict]spot
	measured int
}

func tallyOf(w results.Sweep, g ground) tally {
	t := tally{planned: len(w.X.Values), n: map[results.Verdict]int{}, first: map[results.Verdict]spot{}, measured: len(g.spots)}
	if w.Y != nil {
		t.planned *= len(w.Y.Values)
	}
	for _, c := range g.spots {
		v := c.run.Verdict
		if t.n[v]++; t.n[v] == 1 {
			t.first[v] = c
		}
	}
	return t
}

// words say it in short; reasons adds what was found, or is in doubt, where it was so first.
func (t tally) words(w results.Sweep, reasons bool) string {
	because := func(text string) string {
		if !reasons || text == "" {
			return ""
		}
		return " (" + text + ")"
	}
	var parts []string
	violated, undecided := t.first[results.Violated], t.first[results.Inconclusive]
	switch held := t.n[results.Held]; {
	case t.n[results.Violated] > 0:
		parts = append(parts, fmt.Sprintf("violated in %d of %s, first at %s", t.n[results.Violated], count(t.planned, "cell"),
			placeOf(w, violated.SweepCell))+because(kinds(violated.run)))
	case held > 0 && held == t.planned:
		parts = append(parts, "held in every cell")
	case held > 0:
		parts = append(parts, fmt.Sprintf("held in %d of %s", held, count(t.planned, "cell")))
	}
	if k := t.n[results.Inconclusive]; k > 0 {
		parts = append(parts, fmt.Sprintf("undecided in %d, first at %s", k, placeOf(w, undecided.SweepCell))+because(undecided.run.Reason))
	}
	if k := t.planned - t.measured; k > 0 {
		parts = append(parts, fmt.Sprintf("%d not measured", k))
	}
	return strings.Join(parts, "; ")
}

func (t tally) mood() mood {
	switch {
	case t.n[results.Violated] > 0:
		return bad
	case t.n[results.Held] == t.planned:
		return good
	}
	return unsure
}

// kinds are the anomalies of a run that counted.
func kinds(r results.Run) string {
	var found []string
	for _, a := range r.Anomalies {
		if a.Judged && !slices.Contains(found, a.Kind) {
			found = append(found, a.Kind)
		}
	}
	return strings.Join(found, ", ")
}

// asExpected compares a strategy's cells with what was expected of them.
func asExpected(g ground) string {
	says := "as expected"
	for _, r := range g.runs {
		switch r.ClaimCode() {
		case 0:
		case 1:
			return fmt.Sprintf("AGAINST EXPECTATION (%s)", r.Expected)
		case 4:
			says = "expected " + string(r.Expected)
		case 130:
			return "interrupted"
		default:
			return "not finished"
		}
	}
	return says
}

// sweepVerdicts is a line for each strategy, and the last one for all of them.
func sweepVerdicts(b *strings.Builder, d results.Document, s Style) {
	b.WriteString("\n")
	for _, g := range grounds(d) {
		t := tallyOf(*d.Sweep, g)
		fmt.Fprintf(b, "%s: %s, %s\n", g.strategy, field{mood: t.mood()}.paint(t.words(*d.Sweep, true), s), asExpected(g))
	}
	for _, s := range d.Skipped {
		fmt.Fprintf(b, "%s: skipped (%s)\n", s.Strategy, s.Reason)
	}
	fmt.Fprintln(b, SweepVerdict(d))
}

// SweepVerdict is the last line of a sweep's report: how the strategies did over the grid, and how that compares with what was expected.
func SweepVerdict(d results.Document) string {
	if !isSweep(d) {
		return "verdict: " + conclusion(d)
	}
	all := grounds(d)
	var parts []string
	for _, g := range all {
		text := tallyOf(*d.Sweep, g).words(*d.Sweep, false)
		if len(all) > 1 {
			text = g.strategy + " " + text
		}
		parts = append(parts, text)
	}
	how := strings.Join(parts, "; ")
	judged := gateConclusion(d)
	switch claimCode(d) {
	case 0:
		return "verdict: " + how + ", as expected" + judged
	case 1:
		return "verdict: AGAINST EXPECTATION: " + how + judged
	case 4:
		return "verdict: inconclusive: " + how + judged
	}
	ended := "not finished"
	if d.ExitCode == 130 {
		ended = "interrupted"
	}
	return fmt.Sprintf("verdict: %s, with %d of %s measured: %s", ended, len(d.Sweep.Cells), count(d.Sweep.Planned, "cell"), how)
}
