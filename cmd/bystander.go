package cmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/load"
	"idemlab/internal/race"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// bystanderFlags are the flags of bystander as typed.
type bystanderFlags struct {
	server serverFlags
	output outputFlags
	common commonFlags

	hot       []int
	latencies []time.Duration
	unrelated time.Duration
	clients   int
	pool      int
	duration  time.Duration
}

func (a *app) bystander() *cobra.Command {
	var f bystanderFlags
	c := &cobra.Command{
		Use:   "bystander",
		Short: "Show what attempts at one key do to others that have nothing to do with it",
		Long: `Fire attempts at one hot key, one key after another, while clients on keys of their own and a plain SELECT 1 use the same pool. As the
acquirer slows, a strategy that holds its connection for the length of the call starves everybody; one that commits its claim first
does not. Each cell is measured undisturbed first; where less than half of the undisturbed rate is left is the knee.`,
		Example: `  idemlab bystander
  idemlab bystander --strategy=insert-first-open-tx --hot 5,10,20,40 --acquirer-latency 500ms
  idemlab bystander --strategy=for-update-order,advisory-xact --duration 1s --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options, err := f.options(a)
			if err != nil {
				return err
			}
			return a.runBystander(c.Context(), f, options)
		},
	}
	fl := c.Flags()
	f.common.add(c)
	f.common.strategies = []string{scenarios.InsertFirst.Name, scenarios.InsertFirstOpenTx.Name}
	fl.Lookup("strategy").DefValue = "insert-first,insert-first-open-tx"
	fl.IntSliceVar(&f.hot, "hot", []int{20}, "attempts at the hot key at once; a comma list")
	fl.DurationSliceVar(&f.latencies, "acquirer-latency", []time.Duration{5 * time.Millisecond, 50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second},
		"time the acquirer takes for the hot attempts; a comma list")
	fl.DurationVar(&f.unrelated, "unrelated-latency", 5*time.Millisecond, "time the acquirer takes for the unrelated attempts")
	fl.IntVar(&f.clients, "clients", 8, "clients on keys of their own, in a closed loop")
	fl.IntVar(&f.pool, "pool", 20, "connections that all of them share")
	fl.DurationVar(&f.duration, "duration", 2*time.Second, "length of a cell, or one and a half times the acquirer's where that is longer; half as long undisturbed before")
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "bystander")
	return c
}

func (f *bystanderFlags) options(a *app) ([]load.BystanderOptions, error) {
	inside := func(v, from, to int) bool { return v >= from && v <= to }
	const longest = time.Minute
	for _, h := range f.hot {
		if !inside(h, 2, 1000) {
			return nil, usagef("--hot %d: say 2 to 1000: one attempt meets nobody", h)
		}
	}
	for _, l := range f.latencies {
		if l < 0 || l > longest {
			return nil, usagef("--acquirer-latency %v: say 0 to %v", l, longest)
		}
	}
	switch {
	case len(f.hot) == 0 || len(f.latencies) == 0:
		return nil, usagef("--hot and --acquirer-latency: name at least one of each")
	case f.unrelated < 0 || f.unrelated > longest:
		return nil, usagef("--unrelated-latency %v: say 0 to %v", f.unrelated, longest)
	case !inside(f.clients, 1, 1000):
		return nil, usagef("--clients %d: say 1 to 1000", f.clients)
	case !inside(f.pool, 1, 1000):
		return nil, usagef("--pool %d: say 1 to 1000", f.pool)
	case f.duration < 200*time.Millisecond || f.duration > time.Hour:
		return nil, usagef("--duration %v: say 200ms to %v", f.duration, time.Hour)
	}
	c, err := f.common.common(a)
	if err != nil {
		return nil, err
	}
	if err := c.oneScenario(); err != nil {
		return nil, err
	}
	if s := c.strategies[0]; !s.Scenario().Acquirer {
		return nil, usagef("--strategy: bystander is about holding a connection while the acquirer takes its time, and %s belongs to the scenario %s, which has none",
			s.Name, s.Scenario().Name)
	}
	if err := alike("bystander", c.strategies); err != nil {
		return nil, err
	}
	var all []load.BystanderOptions
	for _, s := range c.strategies {
		all = append(all, load.BystanderOptions{
			Options: load.Options{
				Scenario: s.Scenario(), Strategy: s, Clients: f.clients, Duration: f.duration, Pool: f.pool, Isolation: c.isolation,
				Acquirer: acquirer.Options{Seed: c.seed}, AttemptTimeout: max(time.Minute, 10*slices.Max(f.latencies)),
				Seed: c.seed, Expect: c.expect, DDL: c.ddl,
			},
			Unrelated: f.unrelated, Hot: f.hot, Latencies: f.latencies,
		})
	}
	return all, nil
}

func (a *app) runBystander(ctx context.Context, f bystanderFlags, options []load.BystanderOptions) error {
	if err := f.output.prepare(options[0].Scenario); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, skipped, err := a.bystanders(ctx, f, options)
	if len(runs) == 0 && err != nil {
		return err
	}
	d := document(ctx, runs, err)
	d.Skipped = skipped
	return a.put(f.output, "bystander", started, d)
}

func (a *app) bystanders(ctx context.Context, f bystanderFlags, options []load.BystanderOptions) (runs []results.Run, skipped []results.Skipped, err error) {
	first := options[0]
	srv, err := server.Open(ctx, f.server.options(a, first.Pool+load.Overhead))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	options, skipped, err = able(a, srv, options, func(o load.BystanderOptions) scenarios.Strategy { return o.Strategy })
	if err != nil {
		return nil, skipped, err
	}
	control, err := race.Control(ctx, srv, race.Options{
		Scenario: first.Scenario, Strategy: first.Strategy, Isolation: first.Isolation, Seed: first.Seed, DDL: first.DDL,
	})
	if err != nil {
		return nil, skipped, fmt.Errorf("control: %w", err)
	}
	var done atomic.Int64
	bar := a.progress(int64(len(options)*len(first.Hot)*len(first.Latencies)), &done)
	defer bar.stop()
	var errs []error
	for _, o := range options {
		o.Control = &control
		bar.describe(o.Strategy.Name)
		o.Cell = func(n, of int, c results.BystanderCell) {
			done.Add(1)
			if bar.bar == nil {
				a.say("%s: %d of %d: %d hot, acquirer %gms: %.0f a second, %.0f undisturbed", o.Strategy.Name, n, of, c.Hot, c.AcquirerLatencyMS,
					math.Round(c.Disturbed.PerSecond), math.Round(c.Undisturbed.PerSecond))
			}
		}
		run, err := load.Bystander(ctx, srv, o)
		run.Tool.Version = version
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.Strategy.Name, err))
		}
		runs = append(runs, run)
		if ctx.Err() != nil || errors.Is(err, load.ErrServerLost) {
			break
		}
	}
	return runs, skipped, errors.Join(errs...)
}
