package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"idemlab/internal/check"
	"idemlab/internal/repeats"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// mostRepeats bounds one strategy's repeats: each is kept until the end.
const mostRepeats = 1_000_000

// repeatsFlags are the flags of repeats as typed.
type repeatsFlags struct {
	server  serverFlags
	output  outputFlags
	common  commonFlags
	repeats int
}

// answersRepeats are the strategies that are measured unasked: one for each way to answer a repeat.
func answersRepeats() []string {
	var names []string
	for _, s := range []scenarios.Strategy{
		scenarios.CheckThenAct, scenarios.InsertFirst, scenarios.InsertFirstCatch, scenarios.CatchInSavepoint, scenarios.CTEGetOrCreate,
		scenarios.DoUpdateNoop, scenarios.Merge, scenarios.ForUpdateOrder, scenarios.SerializableCheck, scenarios.AdvisoryXact,
	} {
		names = append(names, s.Name)
	}
	return names
}

func (a *app) repeats() *cobra.Command {
	var f repeatsFlags
	c := &cobra.Command{
		Use:   "repeats",
		Short: "Measure what one more repeat of a finished key costs",
		Long: `Finish one key, repeat the same request one at a time, and read PostgreSQL's counters before and after: client time, processor time of
the backend (where it runs on this machine), bytes of WAL, transaction ids, rows written and left dead, growth, and numbers of the
identity that are gone. Every repeat must be told the stored answer, and the acquirer be told once.

A CHECKPOINT comes first where the role may make one, and the first repeat after it is not counted, so that full-page images stay out.
WAL and transaction ids are counted for the whole server: best on one where nobody else is at work; what it writes in as much time
without a repeat is in the document. One that is started here runs without autovacuum.`,
		Example: `  idemlab repeats
  idemlab repeats --strategy=insert-first,insert-first-catch,do-update-noop
  idemlab repeats --strategy=insert-first --repeats 20000 --json
  idemlab repeats --strategy=insert-first --fail-on 'repeats.per_repeat.wal_bytes>10'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options, err := f.options(a)
			if err != nil {
				return err
			}
			return a.runRepeats(c.Context(), f, options)
		},
	}
	fl := c.Flags()
	fl.StringSliceVarP(&f.common.strategies, "strategy", "s", answersRepeats(), "strategy; a comma list, or repeated (idemlab strategies)")
	fl.IntVarP(&f.repeats, "repeats", "n", 2000, "repeats to count, of each strategy")
	fl.StringVar(&f.common.isolation, "isolation", string(pgx.ReadCommitted), "default isolation level of the attempts: "+strings.Join(isolationNames(), ", "))
	fl.StringVar(&f.common.ddlFile, "schema", "", "SQL file in place of the embedded schema.sql")
	fl.Uint64Var(&f.common.seed, "seed", 1, "seed of the key")
	f.common.expect = string(check.ExpectHeld) // there is no other: with one attempt at a time nothing excuses a strategy
	for name, values := range map[string][]string{"strategy": strategyNames(), "isolation": isolationNames()} {
		// The only error is a flag that does not exist, which the first test run would show.
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "repeats")
	return c
}

// options checks everything that can be wrong before a server is looked for, and returns one run for each strategy.
func (f *repeatsFlags) options(a *app) ([]repeats.Options, error) {
	if f.repeats < 1 || f.repeats > mostRepeats {
		return nil, usagef("--repeats %d: say 1 to %d", f.repeats, mostRepeats)
	}
	c, err := f.common.common(a)
	if err != nil {
		return nil, err
	}
	if err := alike("repeats", c.strategies); err != nil {
		return nil, err
	}
	var all []repeats.Options
	for _, s := range c.strategies {
		if sc := s.Scenario(); !sc.Followups {
			return nil, usagef("--strategy=%s: the scenario %s stores no answer that a repeat could be told; name strategies of %s",
				s.Name, sc.Name, scenarios.ChargeOnce.Name)
		}
		all = append(all, repeats.Options{Strategy: s, Repeats: f.repeats, Isolation: c.isolation, Seed: c.seed, DDL: c.ddl})
	}
	return all, nil
}

func (a *app) runRepeats(ctx context.Context, f repeatsFlags, options []repeats.Options) error {
	if err := f.output.prepare(scenarios.ChargeOnce); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, skipped, err := a.repeatAll(ctx, f, options)
	if len(runs) == 0 && err != nil {
		return err
	}
	d := document(ctx, runs, err)
	d.Skipped = skipped
	return a.put(f.output, "repeats", started, d)
}

func (a *app) repeatAll(ctx context.Context, f repeatsFlags, options []repeats.Options) (runs []results.Run, skipped []results.Skipped, err error) {
	srv, err := server.Open(ctx, f.server.quiet(a, repeats.Overhead+1))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	options, skipped, err = able(a, srv, options, func(o repeats.Options) scenarios.Strategy { return o.Strategy })
	if err != nil {
		return nil, skipped, err
	}
	var done atomic.Int64
	bar := a.progress(int64(len(options)*f.repeats), &done)
	defer bar.stop()
	var errs []error
	for _, o := range options {
		o.Done = &done
		bar.describe(o.Strategy.Name)
		run, err := repeats.Run(ctx, srv, o)
		run.Tool.Version, run.Repeats.Settings.Schema = version, f.common.ddlFile
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.Strategy.Name, err))
		}
		runs = append(runs, run)
		if ctx.Err() != nil || errors.Is(err, repeats.ErrServerLost) {
			break
		}
	}
	return runs, skipped, errors.Join(errs...)
}
