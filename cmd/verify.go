package cmd

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// verifyFlags are the flags of verify as typed.
type verifyFlags struct {
	server   serverFlags
	output   outputFlags
	common   commonFlags
	levels   []string
	budget   time.Duration
	parallel int
	full     bool
	scenario string
}

func (a *app) verify() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify",
		Short: "Hold every strategy to its claims, in every engine",
		Long: `Race and explore every strategy, under each hazard, and compare with what it claims: a safe strategy must hold, an unsafe
one must be caught, and what is undecided is exit code 4. One command for the whole guarantee, for CI.`,
		Example: `  idemlab verify
  idemlab verify --scenario=debit
  idemlab verify --strategy=insert-first --isolation "read committed,repeatable read" --junit report.xml
  idemlab verify --full --budget 30m --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.narrow(c.Flags().Changed("strategy")); err != nil {
				return err
			}
			return a.runVerify(c.Context(), &f)
		},
	}
	fl := c.Flags()
	fl.StringSliceVarP(&f.common.strategies, "strategy", "s", strategyNames(), "strategy; a comma list, or repeated (without it: all)")
	fl.Lookup("strategy").DefValue = ""
	fl.StringVar(&f.scenario, "scenario", "", "the strategies of this scenario only: "+strings.Join(scenarioNames(), ", "))
	fl.StringSliceVar(&f.levels, "isolation", []string{string(pgx.ReadCommitted)}, "isolation levels; a comma list")
	fl.StringVar(&f.common.ddlFile, "schema", "", "SQL file in place of the embedded schema.sql")
	fl.Uint64Var(&f.common.seed, "seed", 1, "seed of everything that is left to chance")
	fl.DurationVar(&f.budget, "budget", 0, "stop after this time (0: none); cells that it cuts off are undecided")
	fl.IntVar(&f.parallel, "parallel", min(4, runtime.NumCPU()), "cells at once, each on tables of its own")
	fl.BoolVar(&f.full, "full", false, "every isolation level, 3 sessions, lost replies and instances too")
	// The only error is a flag that does not exist, which the first test run would show.
	_ = c.RegisterFlagCompletionFunc("scenario", cobra.FixedCompletions(scenarioNames(), cobra.ShellCompDirectiveNoFileComp))
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "race", "explore")
	f.common.isolation, f.common.expect = string(pgx.ReadCommitted), string(check.ExpectClaim)
	return c
}

// narrow takes --scenario into account: its strategies, or those named, which must then be among them.
func (f *verifyFlags) narrow(named bool) error {
	if f.scenario == "" {
		return nil
	}
	s, ok := scenarios.ScenarioNamed(f.scenario)
	if !ok {
		return usagef("no scenario %q; there are: %s", f.scenario, strings.Join(scenarioNames(), ", "))
	}
	var names []string
	for _, one := range s.Strategies() {
		names = append(names, one.Name)
	}
	if !named {
		f.common.strategies = names
		return nil
	}
	for _, name := range f.common.strategies {
		if !slices.Contains(names, name) {
			return usagef("--strategy=%s: the scenario %s has %s", name, s.Name, strings.Join(names, ", "))
		}
	}
	return nil
}

func (a *app) runVerify(ctx context.Context, f *verifyFlags) error {
	cells, err := f.cells(a)
	if err != nil {
		return err
	}
	if err := f.output.prepare(scenariosOf(cells)...); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, skipped, err := a.verifyAll(ctx, f, cells)
	if len(runs) == 0 && err != nil {
		return err
	}
	d := document(ctx, runs, err)
	d.Skipped = skipped
	return a.put(f.output, "verify", started, d)
}

// verifyAll runs the cells, some at once, and returns the results in the order of the cells.
func (a *app) verifyAll(ctx context.Context, f *verifyFlags, cells []cell) (runs []results.Run, skipped []results.Skipped, err error) {
	srv, err := server.Open(ctx, f.server.options(a, f.parallel*cellConnections))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	cells, skipped, err = able(a, srv, cells, func(c cell) scenarios.Strategy { return c.strategy })
	if err != nil {
		return nil, skipped, err
	}

	var done atomic.Int64
	bar := a.progress(int64(len(cells)), &done)
	defer bar.stop()
	bar.describe("cells")
	until := time.Time{}
	if f.budget > 0 {
		until = time.Now().Add(f.budget)
	}
	all := make([]results.Run, len(cells))
	cellErrs := make([]error, len(cells))
	look := func(i int, shared bool) {
		if ctx.Err() != nil {
			return
		}
		c := cells[i]
		run, err := c.run(ctx, srv, until, shared)
		run.Tool.Version, run.Hazard = version, string(c.hazard)
		all[i], cellErrs[i] = run, nil
		if err != nil {
			cellErrs[i] = fmt.Errorf("%s, %s: %w", c.strategy.Name, c.hazard, err)
		}
	}
	shared := f.parallel > 1
	alone := newAlone(srv)
	var g errgroup.Group
	g.SetLimit(f.parallel)
	for _, i := range longestFirst(cells) {
		c := cells[i]
		g.Go(func() error {
			if !shared || !alone.wants(c) {
				look(i, shared)
				done.Add(1)
				alone.saw(c, all[i])
			}
			return nil // each cell's error is kept, so that one does not end the others
		})
	}
	_ = g.Wait()
	for i, c := range cells { // one at a time: what splits the COMMITs of one would hold back everybody else's
		if shared && alone.wants(c) {
			look(i, false)
			done.Store(min(done.Load()+1, int64(len(cells))))
		}
	}
	errs := slices.DeleteFunc(cellErrs, func(err error) bool { return err == nil })
	shownElsewhere(cells, all)
	all = slices.DeleteFunc(all, func(r results.Run) bool { return r.Engine == "" }) // never begun
	return all, skipped, errors.Join(errs...)
}

// shownElsewhere forgives an engine that did not show what another one did: a bad example must be caught by some engine, not by
// each. A race may miss by chance what a search finds for sure; a search makes no other charge of the order, as a race does.
func shownElsewhere(cells []cell, runs []results.Run) {
	key := func(r results.Run) string { return r.Strategy + r.Hazard + r.Server.Isolation }
	shown := map[string]bool{}
	for _, r := range runs {
		if r.Expected == results.Violated && r.ExitCode == exitHeld && !gaveUp(r) {
			shown[key(r)] = true
		}
	}
	for i, r := range runs {
		if r.Expected != results.Violated || r.ExitCode != exitInconclusive || r.Status != results.Complete || !shown[key(r)] {
			continue
		}
		if never, _ := cells[i].strategy.Judged(cells[i].hazard, cells[i].isolation()); misses(r, never) {
			runs[i].ExitCode, runs[i].Reason = exitHeld, "not shown here; the other engine shows it"
		}
	}
}

// misses says whether all that the run lacks is what it was to show. It looked at everything that it was meant to, and what must never be
// found is not left open: of that no engine speaks for another.
func misses(r results.Run, never []scenarios.Anomaly) bool {
	if e := r.Explore; e != nil && (e.Coverage != "exhaustive" || r.Verdict == results.Inconclusive) {
		return false
	}
	return !gaveUp(r) && !check.LeavesOpen(r, never)
}

// gaveUp says whether attempts of a race were given up. It is then judged as lost replies, whatever its cell is.
func gaveUp(r results.Run) bool {
	return r.Counts != nil && r.Counts.AttemptsGivenUp != nil && *r.Counts.AttemptsGivenUp > 0
}
