package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/explore"
	"idemlab/internal/instance"
	"idemlab/internal/race"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// exploreConnections is what an exploration holds at the most: four sessions, who looks at them, and what prepares and reads.
const exploreConnections = 16

func (a *app) explore() *cobra.Command {
	var f exploreFlags
	c := &cobra.Command{
		Use:   "explore",
		Short: "Run every order of events that two or more sessions can have",
		Long: `Run a strategy, unchanged, through every distinct order of its statements and captures that two or more sessions can have
on a real PostgreSQL, and say in how many of them the customer is charged twice, with the shortest as a line to replay.

A race shows what happened; this shows what can happen, within the bounds that it states. A search that was cut off is
never "held".

Time stands still in it. A lease lasts through all of an order, unless it is a strategy's own and has run out from the start, and the
timer of a heartbeat does not tick; with --lease 1us every lease has run out when somebody looks, as where its worker is stopped for
longer. No lock_timeout, other limit or deadline of a
context ever ends a wait: where one could have, the run is not "held". No session dies while it waits, each death is that of a
process of its own, and the acquirer declines nothing.

--beside runs a job beside the clients, in every order with them:
` + jobLines(),
		Example: `  idemlab explore
  idemlab explore --strategy=insert-first-open-tx --sessions 1 --crashes 1
  idemlab explore --strategy=check-then-act --schedule 'A:check B:check A:capture B:capture'
  idemlab explore --strategy=insert-first --sessions 3 --budget 60s --json
  idemlab explore --strategy=insert-first,business-event --beside purger
  idemlab explore --strategy=lease-takeover-heartbeat --lease 1us
  idemlab explore --spec transfer.spec`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.agree(c.Flags()); err != nil {
				return err
			}
			if f.spec != "" {
				return a.runSpec(c.Context(), f)
			}
			x, err := f.exploration(a)
			if err != nil {
				return err
			}
			if f.step {
				if _, err := a.keyboard(); err != nil {
					return err
				}
			}
			return a.runExplore(c.Context(), f, x)
		},
	}
	f.add(c)
	return c
}

// runExplore explores one strategy after another on one server, and puts out one document, also where it ends early.
func (a *app) runExplore(ctx context.Context, f exploreFlags, cases []explore.Case) error {
	if err := f.output.prepare(cases[0].Scenario); err != nil {
		return err
	}
	if f.export != "" {
		if err := canExport(f.export); err != nil {
			return err
		}
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, skipped, err := a.exploreAll(ctx, f, cases)
	if len(runs) == 0 && err != nil {
		return err
	}
	if f.export != "" && err == nil && ctx.Err() == nil {
		err = a.export(f.export, cases, runs)
	}
	if f.step && err == nil && ctx.Err() == nil {
		if err := a.step(ctx, *runs[0].Explore.Trace); err != nil {
			return err
		}
	}
	d := document(ctx, runs, err)
	d.Skipped = skipped
	return a.put(f.output, "explore", started, d)
}

func (a *app) exploreAll(ctx context.Context, f exploreFlags, cases []explore.Case) (runs []results.Run, skipped []results.Skipped, err error) {
	srv, err := server.Open(ctx, f.server.options(a, exploreConnections))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	cases, skipped, err = able(a, srv, cases, func(c explore.Case) scenarios.Strategy { return c.Options.Strategy })
	if err != nil {
		return nil, skipped, err
	}

	var done atomic.Int64
	bar := a.progress(-1, &done)
	defer bar.stop()
	var errs []error
	for _, c := range cases {
		c.Options.Progress = &done
		bar.describe(c.Options.Strategy.Name)
		run, err := c.Run(ctx, srv)
		run.Tool.Version = version
		if run.Explore != nil {
			run.Explore.Schema = f.common.ddlFile
		}
		if err == nil && ctx.Err() == nil && f.likely > 0 && c.Schedule == nil && c.Options.Sessions > 1 && len(c.Options.Others) == 0 { // a race has nobody beside it
			err = likely(ctx, srv, c, f.likely, &run)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.Options.Strategy.Name, err))
		}
		runs = append(runs, run)
		if ctx.Err() != nil {
			break
		}
	}
	return runs, skipped, errors.Join(errs...)
}

// patience is how long an attempt of the race beside a search may take. One that is given up is a lost reply, and no part of a race.
const patience = 30 * time.Second

// likely races as many attempts as there were sessions, without faults, to say how likely what is possible is. What it shows of
// charges must be possible.
func likely(ctx context.Context, srv *server.Server, c explore.Case, intents int, run *results.Run) error {
	judgesCharges := c.Scenario.Acquirer && c.Scenario.Harm == ""
	scenario := c.Scenario
	if judgesCharges {
		scenario.Followups = false // the search has none, and a second charge of theirs is no double charge of a race
	}
	raced, err := race.Run(ctx, srv, race.Options{
		Scenario: scenario, Strategy: c.Options.Strategy,
		Attempts: c.Options.Sessions, Intents: intents, Rounds: 1, Instances: 1, Pool: c.Options.Sessions,
		Lease: c.Options.Lease, Isolation: c.Options.Isolation, Acquirer: acquirer.Options{Latency: acquirer.Fixed(time.Millisecond)},
		AttemptTimeout: patience, Seed: c.Options.Seed, Expect: c.Expect, DDL: c.DDL,
	})
	if errors.Is(err, instance.ErrDeaf) {
		return nil // the search has met it as well, and has said so
	}
	if err != nil || raced.Counts == nil {
		return err
	}
	l := &results.Likely{Attempts: c.Options.Sessions, Intents: raced.Counts.Intents}
	run.Explore.Likely = l
	if judgesCharges {
		l.DoubleCharged = &raced.Counts.IntentsDoubleCharged
		if *raced.Counts.AttemptsGivenUp == 0 && scenario.Alike() {
			c.Contradicted(run, *l.DoubleCharged, l.Intents)
		}
		return nil
	}
	wrong := map[string]bool{}
	for _, found := range raced.Anomalies {
		wrong[found.Intent] = true
	}
	n := len(wrong)
	l.Violated = &n
	return nil
}

// export writes the first order that a run was left with. Where none was there is nothing to write, which is said and decides nothing.
func (a *app) export(path string, cases []explore.Case, runs []results.Run) error {
	for i, r := range runs {
		if r.Explore != nil && r.Explore.Trace != nil {
			return exportSpec(path, cases[i].DDL, cases[i].Options.Strategy, r.Server.Isolation, *r.Explore.Trace)
		}
	}
	a.say("--export-spec: there is no order to write, none having been found wrong and shown, so that %s is not made; name one with --schedule", path)
	return nil
}
