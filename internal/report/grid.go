package report

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"idemlab/results"
	"idemlab/scenarios"
)

// isGrid says whether the document is a matrix of strategies and hazards.
func isGrid(d results.Document) bool {
	return len(d.Runs) > 0 && d.Runs[0].Hazard != "" && d.Runs[0].Retry == nil
}

// column is one hazard at one isolation level.
type column struct{ hazard, isolation string }

// grid has a row for each strategy and a column for each hazard and level; a cell says what was found there by any engine.
func grid(b *strings.Builder, d results.Document, s Style) error {
	var strategies []string
	var columns []column
	cells := map[string]map[column][]results.Run{}
	for _, r := range d.Runs {
		c := column{r.Hazard, r.Server.Isolation}
		if !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
		if cells[r.Strategy] == nil {
			strategies = append(strategies, r.Strategy)
			cells[r.Strategy] = map[column][]results.Run{}
		}
		cells[r.Strategy][c] = append(cells[r.Strategy][c], r)
	}
	var out bytes.Buffer
	t := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{Symbols: tw.NewSymbols(tw.StyleLight)})),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft), tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithEastAsian(tw.Off))
	header := []any{""}
	for _, c := range columns {
		header = append(header, c.hazard+"\n"+c.isolation)
	}
	t.Header(header...)
	for _, name := range strategies {
		row := []any{name}
		for _, c := range columns {
			text, m := cell(cells[name][c])
			row = append(row, field{mood: m}.paint(text, s))
		}
		if err := t.Append(row...); err != nil {
			return fmt.Errorf("add row to grid: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("render grid: %w", err)
	}
	if table := out.String(); widest(table) <= s.Width {
		b.WriteString(table)
	} else {
		list(b, strategies, columns, cells, s)
	}
	return undecided(b, d, s)
}

// list is the grid where it does not fit.
func list(b *strings.Builder, strategies []string, columns []column, cells map[string]map[column][]results.Run, s Style) {
	for _, name := range strategies {
		fmt.Fprintln(b, name)
		for _, c := range columns {
			text, m := cell(cells[name][c])
			fmt.Fprintf(b, "  %s, %s: %s\n", c.hazard, c.isolation, field{mood: m}.paint(text, s))
		}
	}
}

// cell says in a few words what all engines together found: the worst anomaly that counts, else that it held, and whether
// attempts waited for each other.
func cell(runs []results.Run) (string, mood) {
	if len(runs) == 0 {
		return absent, plain
	}
	var found []string
	waits, doubt, against := false, false, false
	for _, r := range runs {
		for _, a := range r.Anomalies {
			if a.Judged && !slices.Contains(found, a.Kind) {
				found = append(found, a.Kind)
			}
		}
		waits = waits || r.Explore != nil && r.Explore.BlockedSteps > 0
		doubt = doubt || r.ClaimCode() > 1
		against = against || r.ClaimCode() == 1
	}
	text, m := "holds", good
	for _, a := range scenarios.Anomalies() { // worst first
		if slices.Contains(found, string(a)) {
			text, m = strings.ReplaceAll(string(a), "_", " "), bad
			break
		}
	}
	switch {
	case against:
		text = "AGAINST ITS CLAIM: " + text
	case doubt:
		text, m = "undecided", unsure
	}
	if waits && !doubt {
		text += ", waits"
	}
	return text, m
}

func gridHeading(b *strings.Builder, r results.Run) {
	fmt.Fprintf(b, "PostgreSQL %s (%s)\n\n", r.Server.Version, r.Server.Source)
}

// undecided names each cell that is not as claimed, with its reason and the line that runs it again.
func undecided(b *strings.Builder, d results.Document, s Style) error {
	against, open := 0, 0
	for _, r := range d.Runs {
		switch r.ClaimCode() {
		case 0:
			continue
		case 1:
			against++
		case 130: // the last line says so
		default:
			open++
		}
		fmt.Fprintf(b, "\n%s, %s: %s\n", r.Strategy, Cell(r), compared(r))
		if line := again(r); line != "" {
			fmt.Fprintf(b, "again: %s\n", line)
		}
	}
	gates(b, d.Runs, s)
	if err := baselines(b, d.Runs, s); err != nil {
		return err
	}
	fmt.Fprintf(b, "\nverdict: %s, %s%s\n", count(len(d.Runs), "cell"), gridConclusion(d, against, open), gateConclusion(d))
	return nil
}

// compared is a cell's verdict beside what was expected, in words. Where both are "violated", another anomaly was found than
// the one that was to be.
func compared(r results.Run) string {
	if r.ClaimCode() == 1 {
		return fmt.Sprintf("%s, against its claim: %s", r.Verdict, r.Reason)
	}
	return fmt.Sprintf("%s, expected %s: %s", r.Verdict, r.Expected, r.Reason)
}

func gridConclusion(d results.Document, against, open int) string {
	var parts []string
	if against > 0 {
		parts = append(parts, fmt.Sprintf("%d not as claimed", against))
	}
	if open > 0 {
		parts = append(parts, fmt.Sprintf("%d undecided", open))
	}
	if d.ExitCode == 130 {
		parts = append(parts, "interrupted")
	}
	if len(parts) == 0 {
		return "every claim met"
	}
	return strings.Join(parts, ", ")
}
