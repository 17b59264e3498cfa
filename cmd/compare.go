package cmd

import (
	"github.com/spf13/cobra"

	"idemlab/internal/compare"
	"idemlab/internal/report"
	"idemlab/results"
)

func (a *app) compare() *cobra.Command {
	var f compareFlags
	var asJSON bool
	c := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Compare recorded runs with earlier ones, and tell a regression from noise",
		Long: `Compare the runs in one document, or folder of documents, with those in another, kind by kind: the same engine, strategy,
isolation level and settings. Where a setting that shapes the numbers differs, it is named and nothing is compared (--force compares).

A verdict or an exit code that is worse, or a first duplicate capture, is a regression in itself. Numbers are compared over samples
(the rounds of a race, blocks of a load run's seconds, and whole runs where a folder has several of them): the ratio of new to old, with its
95 % interval (Mann and Whitney). "~" is noise, or too few samples to tell. A number is a regression where it is worse beyond noise
and by more than the tolerance.

Two runs of the same code on a busy machine can differ by more than the seconds within each let one expect. For numbers to trust,
record several runs on each side, in turn.`,
		Example: `  idemlab compare before.json after.json
  idemlab compare results/before results/after --tolerance 5
  idemlab compare results/reference/insert-first.json results/reference/insert-first.json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("compare takes two documents, or folders of them: the earlier first, then the later; runs are kept with --out, or in results/")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			d, err := f.compare(args[0], args[1])
			if err != nil {
				return err
			}
			a.code, a.printed = d.ExitCode, true
			if asJSON {
				return d.Write(a.stdout)
			}
			return report.Comparison(a.stdout, d, a.terminal(a.stdout))
		},
	}
	f.add(c, "")
	c.Flags().BoolVar(&asJSON, "json", false, "print a run document of the newest run of each kind, with how it compares, and nothing else")
	return c
}

// compare returns a document of the newest run of each kind. The exit codes in it are of the comparison alone: what the runs came to by
// their claims stands beside them.
func (f *compareFlags) compare(oldPath, newPath string) (d results.Document, err error) {
	if err := f.check(""); err != nil {
		return d, err
	}
	old, err := readRuns(oldPath)
	if err != nil {
		return d, usagef("%s: %w", oldPath, err)
	}
	runs, err := readRuns(newPath)
	if err != nil {
		return d, usagef("%s: %w", newPath, err)
	}
	groups, gone, err := compare.Runs(old, runs, f.with(oldPath))
	if err != nil {
		return d, err
	}
	d = results.Document{Format: results.Format, ExitCode: exitInconclusive, Skipped: gone}
	compared := false
	for _, g := range groups {
		r := runs[g.Runs[len(g.Runs)-1]]
		claim := r.ClaimCode()
		r.Gates, r.Baseline, r.ClaimExitCode, r.ExitCode = nil, &g.Baseline, &claim, baselineCode(g.Baseline.Outcome, false)
		if g.Baseline.Outcome != results.NotCompared {
			compared = true
		}
		d.Runs = append(d.Runs, r)
	}
	if compared {
		d.ExitCode = exitHeld
	}
	for _, r := range d.Runs {
		d.ExitCode = worse(d.ExitCode, r.ExitCode)
	}
	d.Verdict = results.Worst(d.Runs)
	return d, nil
}
