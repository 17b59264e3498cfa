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

// table has what differs stand side by side: a column for each strategy and a row for each figure, or the other way round.
func table(runs []results.Run, s Style) (string, error) {
	return render(runs, renderer.NewBlueprint(tw.Rendition{Symbols: tw.NewSymbols(tw.StyleLight)}),
		func(f field, v string) string { return f.paint(v, s) }, "\n", nil)
}

// Markdown is the same table for a page, with gates and baseline in it: nothing stands below it there. Runs that have other
// figures than those before them begin another one.
func Markdown(d results.Document) (string, error) {
	if isBystander(d) {
		var below strings.Builder
		gates(&below, d.Runs, Style{})
		text, err := bystanderMarkdown(d)
		return text + below.String(), err
	}
	for i := 1; i < len(d.Runs); i++ {
		if alike(d.Runs[i-1 : i+1]) {
			continue
		}
		first, rest := d, d
		first.Runs, rest.Runs = d.Runs[:i], d.Runs[i:]
		above, err := Markdown(first)
		if err != nil {
			return "", err
		}
		below, err := Markdown(rest)
		return above + "\n" + below, err
	}
	if isSweep(d) {
		return sweepMarkdown(d)
	}
	return render(d.Runs, renderer.NewMarkdown(),
		func(_ field, v string) string { return strings.ReplaceAll(v, "|", `\|`) }, "<br>", judges(d.Runs))
}

func render(runs []results.Run, r tw.Renderer, cell func(field, string) string, newline string, more []func(results.Run) field) (string, error) {
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
	lines := columnEach
	if isRepeats(runs) {
		lines = rowEach
	}
	all := func(r results.Run) []field {
		of := fields(r)
		for _, row := range more {
			of = append(of, row(r))
		}
		return of
	}
	header, rows := lines(runs, all, cell, newline)
	t.Header(header...)
	for _, row := range rows {
		if err := t.Append(row...); err != nil {
			return "", fmt.Errorf("add row to table: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return "", fmt.Errorf("render table: %w", err)
	}
	return out.String(), nil
}

// columnEach has a column for each run and a row for each figure.
func columnEach(runs []results.Run, fields func(results.Run) []field, cell func(field, string) string, newline string) (header []any, rows [][]any) {
	columns := make([][]field, len(runs))
	header = []any{""}
	for i, run := range runs {
		columns[i] = fields(run)
		header = append(header, cell(field{}, subject(run)))
	}
	for n := range columns[0] {
		row := []any{columns[0][n].label}
		for _, c := range columns {
			row = append(row, joined(c[n], cell, newline))
		}
		rows = append(rows, row)
	}
	return header, rows
}

// rowEach has a row for each run and a column for each figure.
func rowEach(runs []results.Run, fields func(results.Run) []field, cell func(field, string) string, newline string) (header []any, rows [][]any) {
	header = []any{""}
	for _, f := range fields(runs[0]) {
		header = append(header, f.label)
	}
	for _, run := range runs {
		row := []any{cell(field{}, subject(run))}
		for _, f := range fields(run) {
			row = append(row, joined(f, cell, newline))
		}
		rows = append(rows, row)
	}
	return header, rows
}

func joined(f field, cell func(field, string) string, newline string) string {
	var lines []string
	for _, v := range f.values {
		lines = append(lines, cell(f, v))
	}
	return strings.Join(lines, newline)
}

// escapes matches the colours that paint adds.
var escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")

func strip(s string) string { return escapes.ReplaceAllString(s, "") }
