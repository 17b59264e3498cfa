package cmd

import (
	"fmt"

	"github.com/spf13/cobra"

	"idemlab/internal/report"
)

func (a *app) report() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:     "report FILE",
		Short:   "Report on a run document that was kept",
		Example: "  idemlab report results/reference/insert-first.json\n  idemlab report --format markdown results/reference/insert-first.json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("report takes one file; runs are kept in results/, or where --out said")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "text" && format != "markdown" {
				return usagef("--format=%s: say text or markdown", format)
			}
			if format == "markdown" && (len(a.maps) > 0 || a.details) {
				return usagef("--show and --details are for the terminal: leave them out with --format markdown")
			}
			d, err := readDocument(args[0])
			if err != nil {
				return usagef("report %s: %w", args[0], err)
			}
			if format == "text" {
				return report.Text(a.stdout, d, a.terminal(a.stdout))
			}
			text, err := report.Markdown(d)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.stdout, text)
			return err
		},
	}
	a.addMaps(c)
	c.Flags().StringVar(&format, "format", "text", "text or markdown")
	return c
}
