package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/check"
	"idemlab/internal/explore"
	"idemlab/internal/mutate"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/results"
	"idemlab/scenarios"
)

// mutateFlags are the flags of mutate as typed.
type mutateFlags struct {
	server serverFlags
	output outputFlags
	common commonFlags
}

func (a *app) mutate() *cobra.Command {
	var f mutateFlags
	c := &cobra.Command{
		Use:   "mutate",
		Short: "Break a strategy on purpose, and see whether the lab notices",
		Long: `Break a strategy on purpose, at its database, its acquirer and its schema, and explore it again, without faults and with a
crash. A mutant is killed (what the strategy claims never to happen was found), noticed (it could not run), or survives;
a survivor is exit code 1: nothing would tell you if that broke.`,
		Example: "  idemlab mutate --strategy=insert-first",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			com, err := f.common.common(a)
			if err != nil {
				return err
			}
			return a.runMutate(c.Context(), f, com)
		},
	}
	f.common.add(c)
	c.Flags().Lookup("strategy").DefValue = scenarios.InsertFirst.Name
	f.common.strategies = []string{scenarios.InsertFirst.Name}
	_ = c.Flags().MarkHidden("expect") // a mutant is expected to be noticed, whatever else is
	f.server.add(c)
	f.output.add(c)
	return c
}

func (a *app) runMutate(ctx context.Context, f mutateFlags, com common) error {
	if err := f.output.prepare(); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, err := a.mutateAll(ctx, f, com)
	if len(runs) == 0 && err != nil {
		return err
	}
	return a.put(f.output, "mutate", started, document(ctx, runs, err))
}

func (a *app) mutateAll(ctx context.Context, f mutateFlags, com common) (runs []results.Run, err error) {
	srv, err := server.Open(ctx, f.server.options(a, exploreConnections))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	strategies, _, err := able(a, srv, com.strategies, func(s scenarios.Strategy) scenarios.Strategy { return s })
	if err != nil {
		return nil, err
	}
	controls := explore.NewControls()
	for _, s := range strategies {
		if err := soundBefore(ctx, srv, com, s, controls); err != nil {
			return runs, err
		}
		for _, m := range mutate.All() {
			run, err := mutant(ctx, srv, com, s, m, controls)
			if run.Engine == "" {
				return runs, err
			}
			run.Tool.Version = version
			if err != nil {
				return append(runs, run), fmt.Errorf("%s, %s: %w", s.Name, m.Name, err)
			}
			if runs = append(runs, run); ctx.Err() != nil {
				return runs, nil
			}
		}
	}
	return runs, nil
}

// mutant explores one mutant until something is wrong with it: first without faults, then with a crash.
func mutant(ctx context.Context, srv *server.Server, com common, s scenarios.Strategy, m mutate.Mutant, controls *explore.Controls) (run results.Run, err error) {
	var changed atomic.Bool
	broken := mutate.Claims(m.Apply(s, func() { changed.Store(true) }), com.isolation)
	for crashes, hazard := range []scenarios.Hazard{scenarios.Race, scenarios.Crash} {
		if never, _ := s.Judged(hazard, com.isolation); len(never) == 0 {
			continue // it claims nothing there that could break
		}
		o := explore.Defaults(broken)
		o.Sessions, o.Crashes, o.Seed, o.Isolation = explore.Clients(s.Scenario(), crashes), crashes, com.seed, com.isolation
		if m.Isolation != "" {
			o.Isolation = m.Isolation
		}
		c := explore.Case{Scenario: s.Scenario(), Options: o, DDL: com.ddl, Expect: check.ExpectClaim, Controls: controls}
		run, err = c.Run(ctx, srv)
		run.Mutant = m.Name
		if errors.Is(err, tables.ErrMissingConstraint) {
			run.Status, run.Fate, run.ExitCode, run.Reason = results.Complete, results.Noticed, exitHeld, err.Error()
			return run, nil
		}
		if err != nil || ctx.Err() != nil {
			return run, err
		}
		if run.Verdict == results.Violated {
			run.Fate, run.ExitCode = results.Killed, exitHeld
			return run, nil
		}
	}
	switch {
	case run.Engine == "":
		return run, usagef("%s claims nothing that it never shows, so there is nothing to break", s.Name)
	case !changed.Load():
		run.Fate, run.ExitCode, run.Reason = results.NotApplicable, exitHeld, "it changes nothing of what this strategy does"
	case run.Verdict == results.Inconclusive:
		run.Fate, run.ExitCode = results.Survivor, exitInconclusive
	default:
		run.Fate, run.ExitCode = results.Survivor, exitViolated
	}
	return run, nil
}

// soundBefore explores the strategy as it is. One that breaks its own word would have every mutant killed by a fault that it
// already has, which would prove nothing.
func soundBefore(ctx context.Context, srv *server.Server, com common, s scenarios.Strategy, controls *explore.Controls) error {
	for crashes, hazard := range []scenarios.Hazard{scenarios.Race, scenarios.Crash} {
		if never, _ := s.Judged(hazard, com.isolation); len(never) == 0 {
			continue
		}
		o := explore.Defaults(mutate.Claims(s, com.isolation))
		o.Sessions, o.Crashes, o.Seed, o.Isolation = explore.Clients(s.Scenario(), crashes), crashes, com.seed, com.isolation
		c := explore.Case{Scenario: s.Scenario(), Options: o, DDL: com.ddl, Expect: check.ExpectClaim, Controls: controls}
		run, err := c.Run(ctx, srv)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if run.Verdict == results.Violated {
			return coded{exitViolated, fmt.Errorf("%s breaks its own claim as it is (%s), so nothing that kills a mutant of it says anything; see: idemlab explore --strategy=%s --crashes %d",
				s.Name, run.Reason, s.Name, crashes)}
		}
	}
	return nil
}
