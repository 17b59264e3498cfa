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
)

// shade draws a size from 0 to 1: the more ink, the more of it, and none for nothing.
func shade(size float64, s Style) string {
	inks := []rune("░▒▓█")
	if s.ASCII {
		inks = []rune(".:+#")
	}
	if !(size > 0) {
		return ""
	}
	return strings.Repeat(string(inks[min(3, int(4*min(size, 1)))]), 2) + " "
}

// heatMap draws a chart of one strategy: a row for each value of y, a column for each of x; a list where that does not fit.
func heatMap(b *strings.Builder, w results.Sweep, g ground, c chart, s Style) error {
	if len(g.spots) == 0 {
		return nil
	}
	fmt.Fprintf(b, "\n%s: %s\n", g.strategy, c.title)
	var out bytes.Buffer
	symbols := tw.StyleLight
	if s.ASCII {
		symbols = tw.StyleASCII
	}
	t := newTable(&out, renderer.NewBlueprint(tw.Rendition{Symbols: tw.NewSymbols(symbols)}))
	inked := func(one spot) []string {
		lines := c.lines(one, s)
		if v, ok := c.size(one); ok {
			lines[0] = shade(v/c.most(g), s) + lines[0]
		}
		for i, l := range lines {
			lines[i] = field{mood: c.mood(one)}.paint(l, s)
		}
		return lines
	}
	if err := fillMap(t, w, g, s, inked, "\n"); err != nil {
		return err
	}
	if text := out.String(); widest(text) <= s.Width {
		b.WriteString(text)
		return nil
	}
	for _, one := range g.spots {
		fmt.Fprintf(b, "  %s: %s\n", placeOf(w, one.SweepCell), strings.Join(inked(one), ", "))
	}
	return nil
}

// newTable is set so that it leaves texts as they are.
func newTable(out *bytes.Buffer, r tw.Renderer) *tablewriter.Table {
	return tablewriter.NewTable(out, tablewriter.WithRenderer(r),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft), tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithEastAsian(tw.Off))
}

// fillMap lays the cells out in a table and renders it.
func fillMap(t *tablewriter.Table, w results.Sweep, g ground, s Style, lines func(spot) []string, newline string) error {
	header, rows := []any{w.X.Name}, []string{""}
	if w.Y != nil {
		header, rows = []any{w.Y.Name + ` \ ` + w.X.Name}, w.Y.Values
	}
	for _, x := range w.X.Values {
		header = append(header, x)
	}
	t.Header(header...)
	for _, y := range rows {
		row := []any{y}
		for _, x := range w.X.Values {
			text := s.dash()
			if i := slices.IndexFunc(g.spots, func(c spot) bool { return c.X == x && c.Y == y }); i >= 0 {
				text = strings.Join(lines(g.spots[i]), newline)
			}
			row = append(row, text)
		}
		if err := t.Append(row...); err != nil {
			return fmt.Errorf("add row to map: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("render map: %w", err)
	}
	return nil
}

// placeOf names a cell as it is typed.
func placeOf(w results.Sweep, c results.SweepCell) string {
	if w.Y == nil {
		return w.X.Name + "=" + c.X
	}
	return fmt.Sprintf("%s=%s, %s=%s", w.X.Name, c.X, w.Y.Name, c.Y)
}
