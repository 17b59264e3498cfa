package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/olekukonko/tablewriter/renderer"

	"idemlab/results"
)

// sweepMarkdown is a sweep for a page: a table for each strategy, and the verdicts.
func sweepMarkdown(d results.Document) (string, error) {
	var b strings.Builder
	sweepHeading(&b, d, Style{})
	for _, g := range grounds(d) {
		if len(g.spots) == 0 {
			continue
		}
		c := charts(*d.Sweep)[0]
		fmt.Fprintf(&b, "\n%s: %s\n\n", g.strategy, c.title)
		var out bytes.Buffer
		err := fillMap(newTable(&out, renderer.NewMarkdown()), *d.Sweep, g, Style{}, func(one spot) []string {
			return c.lines(one, Style{})
		}, "<br>")
		if err != nil {
			return "", err
		}
		b.WriteString(out.String())
	}
	var lines strings.Builder
	legend(&lines, d)
	if d.Error != nil {
		fmt.Fprintf(&lines, "error: %s\n", *d.Error)
	}
	sweepVerdicts(&lines, d, Style{})
	b.WriteString("\n")
	for line := range strings.Lines(lines.String()) {
		if line = strings.TrimSpace(line); line != "" {
			fmt.Fprintf(&b, "- %s\n", line) // a page would run them together
		}
	}
	return b.String(), nil
}
