package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"idemlab/internal/race"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// demonstration is one strategy's run of a command that plays a story: in which what happens first is told, not left to a race.
type demonstration struct {
	strategy    scenarios.Strategy
	intents     int
	connections int
	run         func(ctx context.Context, srv *server.Server, control *results.Control, done *atomic.Int64) (results.Run, error)
}

// demonstrate plays one after another on one server, behind one control, and puts out one document, also where it ends early.
func (a *app) demonstrate(ctx context.Context, engine string, s serverFlags, out outputFlags, c common, list []demonstration) error {
	if err := out.prepare(list[0].strategy.Scenario()); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, skipped, err := a.playAll(ctx, s, c, list)
	if len(runs) == 0 && err != nil {
		return err
	}
	d := document(ctx, runs, err)
	d.Skipped = skipped
	return a.put(out, engine, started, d)
}

func (a *app) playAll(ctx context.Context, s serverFlags, c common, list []demonstration) (runs []results.Run, skipped []results.Skipped, err error) {
	most, intents := exploreConnections, 0 // the control's are fewer
	for _, d := range list {
		most, intents = max(most, d.connections), intents+d.intents
	}
	srv, err := server.Open(ctx, s.options(a, most))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	list, skipped, err = able(a, srv, list, func(d demonstration) scenarios.Strategy { return d.strategy })
	if err != nil {
		return nil, skipped, err
	}
	first := list[0].strategy
	control, err := race.Control(ctx, srv, race.Options{Scenario: first.Scenario(), Strategy: first, Isolation: c.isolation, Seed: c.seed, DDL: c.ddl})
	if err != nil {
		return nil, skipped, fmt.Errorf("control: %w", err)
	}
	var done atomic.Int64
	bar := a.progress(int64(intents), &done)
	defer bar.stop()
	var errs []error
	for _, d := range list {
		bar.describe(d.strategy.Name)
		run, err := d.run(ctx, srv, &control, &done)
		run.Tool.Version = version
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.strategy.Name, err))
		}
		runs = append(runs, run)
		if ctx.Err() != nil {
			break
		}
	}
	return runs, skipped, errors.Join(errs...)
}

// withAcquirer is common for commands that are about money: their strategies are of one scenario, which has an acquirer.
func (f *commonFlags) withAcquirer(a *app, command string) (common, error) {
	c, err := f.common(a)
	if err == nil {
		err = c.oneScenario()
	}
	if err != nil {
		return c, err
	}
	if s := c.strategies[0]; !s.Scenario().Acquirer {
		return c, usagef("--strategy: %s is about money that moves at the acquirer, and %s belongs to the scenario %s, which has none",
			command, s.Name, s.Scenario().Name)
	}
	if s, ok := elsewhere(c.strategies); ok {
		return c, usagef("--strategy: %s works on the table %s, and %s keeps its charges in %s", command, s.Scenario().Tables[0], s.Name, s.Table)
	}
	return c, alike(command, c.strategies)
}

// saysKept tells how to look at tables that were kept, and how to be rid of them.
func (a *app) saysKept(table string) func(schema string) {
	return func(schema string) {
		a.say("kept: look with\n  psql … -c 'SELECT * FROM %s.%s'\nand drop with\n  DROP SCHEMA %s CASCADE", schema, table, schema)
	}
}

// keepable refuses --keep where there is nothing to keep.
func (f *serverFlags) keepable(a *app, keep bool) error {
	if keep && !f.options(a, 0).NamesServer() {
		return usagef("--keep is for a server of yours: the one that is started here goes with the run; name one with --dsn")
	}
	return nil
}
