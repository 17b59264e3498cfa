package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"idemlab/results"
)

// table has a column for each strategy and a row for each figure, so that what differs stands side by side.
func table(runs []results.Run, s Style) (string, error) {
	return render(runs, renderer.NewBlueprint(tw.Rendition{Symbols: tw.NewSymbols(tw.StyleLight)}),
		func(f field, v string) string { return f.paint(v, s) }, "\n")
}

// Markdown is the same table for a page.
func Markdown(d results.Document) (string, error) {
	if isBystander(d) {
		return bystanderMarkdown(d)
	}
	if isSweep(d) {
		return sweepMarkdown(d)
	}
	return render(d.Runs, renderer.NewMarkdown(),
		func(_ field, v string) string { return strings.ReplaceAll(v, "|", `\|`) }, "<br>")
}

func render(runs []results.Run, r tw.Renderer, cell func(field, string) string, newline string) (string, error) {
	var out bytes.Buffer
	t := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(r),
		tablewriter.WithHeaderAutoFormat(tw.Off), // it would upper-case names that are typed in lower case
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithEastAsian(tw.Off), // it would count box drawing as two columns
	)
	if len(runs) == 0 {
		return "", nil
	}
	columns := make([][]field, len(runs))
	header := []any{""}
	for i, run := range runs {
		columns[i] = fields(run)
		header = append(header, cell(field{}, run.Strategy))
	}
	t.Header(header...)
	for n := range columns[0] {
		row := []any{columns[0][n].label}
		for _, c := range columns {
			var lines []string
			for _, v := range c[n].values {
				lines = append(lines, cell(c[n], v))
			}
			row = append(row, strings.Join(lines, newline))
		}
		if err := t.Append(row...); err != nil {
			return "", fmt.Errorf("add row to table: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return "", fmt.Errorf("render table: %w", err)
	}
	return out.String(), nil
}

// escapes matches the colours that paint adds.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func strip(s string) string { return escapes.ReplaceAllString(s, "") }
