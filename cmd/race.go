package cmd

import (
	"context"
	"os"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/race"
	"idemlab/internal/server"
	"idemlab/results"
)

func (a *app) race() *cobra.Command {
	var f raceFlags
	c := &cobra.Command{
		Use:   "race",
		Short: "Fire concurrent attempts at one payment intent after another",
		Long: `Fire N concurrent attempts at one payment intent, M intents one after another, and count what the acquirer was told to do.

A strategy that claims to hold is believed only after a control has been forced to double-charge on the same server, and
only where its attempts were seen to overlap. Without --strategy, the article's two are raced side by side.

With --effect=email what must happen once is no capture but an e-mail to the customer: each attempt sends real SMTP messages to a mail
server that is started here, counts them and delivers none. Everything else is the same.`,
		Example: `  idemlab race
  idemlab race --strategy=check-then-act --attempts 50
  idemlab race --strategy=insert-first,insert-first-open-tx --attempts 20 --intents 1 --acquirer-latency 2s
  idemlab race --strategy=insert-first --instances 4 --dsn postgres://localhost/lab --json
  idemlab race --strategy=check-then-act,insert-first --effect=email
  idemlab race --strategy=insert-first --fail-on 'latency.p99_ms>250' --baseline before.json --junit report.xml`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options, err := f.options(a)
			if err != nil {
				return err
			}
			return a.runRace(c.Context(), f, options)
		},
	}
	f.add(c)
	f.effect.add(c)
	return c
}

// runRace races one strategy after another on one server, and puts out one document, also where it ends early.
func (a *app) runRace(ctx context.Context, f raceFlags, options []race.Options) error {
	if err := f.output.prepare(options[0].Scenario); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, skipped, err := a.raceAll(ctx, f, options)
	if len(runs) == 0 && err != nil {
		return err
	}
	d := document(ctx, runs, err)
	d.Skipped = skipped
	return a.put(f.output, "race", started, d)
}

// raceAll is one race for each strategy.
func (a *app) raceAll(ctx context.Context, f raceFlags, options []race.Options) (runs []results.Run, skipped []results.Skipped, err error) {
	var jobs []job
	for _, o := range options {
		jobs = append(jobs, job{race: o, what: o.Strategy.Name})
	}
	ran, skipped, err := a.raceEach(ctx, f, jobs)
	for _, j := range ran {
		runs = append(runs, j.run)
	}
	return runs, skipped, err
}

// document lays the runs together: one verdict, one exit code.
func document(ctx context.Context, runs []results.Run, err error) results.Document {
	d := results.Document{Format: results.Format, Verdict: results.Worst(runs), Runs: runs}
	for i := range runs {
		r := &runs[i]
		switch r.Status {
		case results.Aborted:
			r.ExitCode = exitInterrupted
		case results.Errored:
			r.ExitCode = exitCouldNotRun
		}
		d.ExitCode = worse(d.ExitCode, r.ExitCode)
	}
	if err != nil {
		text := err.Error()
		d.Error, d.ExitCode = &text, worse(d.ExitCode, codeOf(err))
	}
	if ctx.Err() != nil {
		d.ExitCode = worse(d.ExitCode, exitInterrupted)
		if d.Verdict == results.Held { // of those that came to their end: what was asked for is more
			d.Verdict = results.Inconclusive
		}
	}
	return d
}

// untilParentDies ends the context where the tool was started by "go run" and that is killed: it passes no signal on.
func untilParentDies(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-server.ParentGone(ctx):
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// keepDir is where runs are kept without being asked: a folder of that name in the current directory.
const keepDir = "results"

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
