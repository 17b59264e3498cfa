package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/race"
	"idemlab/internal/report"
	"idemlab/results"
)

func (a *app) sweep() *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep",
		Short: "Race a strategy over a grid of settings, and map how often it goes wrong",
		Long: `Race a strategy over a grid of one or two settings, and map the share of intents that were double-charged (in the scenarios
without an acquirer: that went wrong), with the interval in which the true share lies: what happens within a round is not
independent, so the rounds are the sample, and ten say more than one. Each cell is a race as "idemlab race" runs it, all of
them on one server. The axes are ` + strings.Join(variableNames(), ", ") + `; a range is 2..10, 10..50+10 or 2..64*2.`,
		Example: `  idemlab sweep --strategy=check-then-act --x attempts=2,5,10,20,50 --y acquirer-latency=0s,1ms,5ms,50ms
  idemlab sweep --strategy=process-mutex --x instances=1,2,4 --attempts 8 --acquirer-latency 5ms
  idemlab sweep --strategy=insert-first-open-tx --x pool=2,10,50 --y attempts=10,50 --show rate,lock-waits --csv grid.csv`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			p, err := f.plan(a, c.Flags().Changed)
			if err != nil {
				return err
			}
			return a.runSweep(c.Context(), f, p)
		},
	}
	f.add(a, c)
	return c
}

// runSweep races every cell and puts out one document, also where it ends early.
func (a *app) runSweep(ctx context.Context, f sweepFlags, p plan) error {
	out := &f.race.output
	if err := errors.Join(out.prepare(p.cells[0].race.Scenario), f.prepareCSV()); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	controls := race.NewControls()
	for i := range p.cells {
		p.cells[i].race.Controls = controls
	}
	ran, skipped, err := a.raceEach(ctx, f.race, p.cells)
	if len(ran) == 0 && err != nil {
		return err
	}
	shownInTheGrid(ran)
	var runs []results.Run
	for _, j := range ran {
		runs = append(runs, j.run)
	}
	d := document(ctx, runs, err)
	d.Skipped, d.Sweep = skipped, p.sweep(ran)
	return a.putSweep(f, started, d)
}

// putSweep writes the CSV too, before the document: an artifact stands before a failing exit.
func (a *app) putSweep(f sweepFlags, started time.Time, d results.Document) error {
	out := f.race.output
	switch f.csv {
	case "":
	case "-":
		out.as = report.CSV
		defer func() { a.say("%s", report.SweepVerdict(d)) }() // stdout has no room for it
	default:
		if err := writeWhole(f.csv, func(w io.Writer) error { return report.CSV(w, d) }); err != nil {
			d = withError(d, err)
		}
	}
	return a.put(out, "sweep", started, d)
}

// prepareCSV fails early where the file could not be written.
func (f *sweepFlags) prepareCSV() error {
	if f.csv == "" || f.csv == "-" {
		return nil
	}
	if st, err := os.Stat(f.csv); err == nil && st.IsDir() {
		return usagef("--csv %s: it is a folder; name a file in it", f.csv)
	}
	if err := canWriteBeside(f.csv); err != nil {
		return usagef("--csv: %w", err)
	}
	return nil
}
