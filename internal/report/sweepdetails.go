package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"idemlab/results"
)

// details lists every cell of a strategy with its figures: a table where it fits, else a paragraph each.
func details(b *strings.Builder, w results.Sweep, g ground, s Style) error {
	if len(g.spots) == 0 {
		return nil
	}
	fmt.Fprintf(b, "\n%s: every cell, with the interval of %.0f%% confidence\n", g.strategy, 100*w.Confidence)
	var out bytes.Buffer
	symbols := tw.StyleLight
	if s.ASCII {
		symbols = tw.StyleASCII
	}
	t := newTable(&out, renderer.NewBlueprint(tw.Rendition{Symbols: tw.NewSymbols(symbols)}))
	header := axesOf(w)
	for _, f := range cellFields(w, g.spots[0], s) {
		header = append(header, f.label)
	}
	t.Header(header)
	for _, c := range g.spots {
		row := coordinates(w, c.SweepCell)
		for _, f := range cellFields(w, c, s) {
			row = append(row, f.paint(f.values[0], s))
		}
		if err := t.Append(row); err != nil {
			return fmt.Errorf("add cell to table: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("render table of cells: %w", err)
	}
	if text := out.String(); widest(text) <= s.Width {
		b.WriteString(text)
		return nil
	}
	for _, c := range g.spots {
		fmt.Fprintf(b, "%s\n", placeOf(w, c.SweepCell))
		for _, f := range cellFields(w, c, s) {
			fmt.Fprintf(b, "  %-16s %s\n", f.label, f.paint(f.values[0], s))
		}
	}
	return nil
}

func axesOf(w results.Sweep) []string {
	if w.Y == nil {
		return []string{w.X.Name}
	}
	return []string{w.Y.Name, w.X.Name}
}

func coordinates(w results.Sweep, c results.SweepCell) []string {
	if w.Y == nil {
		return []string{c.X}
	}
	return []string{c.Y, c.X}
}

// cellFields are a cell's figures, the same in each.
func cellFields(w results.Sweep, c spot, s Style) []field {
	list := []field{
		{foundWord(w), []string{fmt.Sprintf("%d of %d: %s (%s)", c.Found, c.Intents, percent(c.Share), between(c, s))}, moodOfShare(c)},
	}
	for _, ch := range charts(w)[1:] {
		text := s.dash()
		if _, ok := ch.size(c); ok {
			text = ch.lines(c, s)[0]
		}
		label := strings.NewReplacer("-", " ", "waits", "wait").Replace(ch.name) // one attempt's, on average
		list = append(list, field{label, []string{text}, plain})
	}
	return append(list, field{"verdict", []string{strings.ToUpper(string(c.run.Verdict)) + ending(c.run)}, moodOf(c.run)})
}
