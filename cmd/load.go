package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/load"
	"idemlab/internal/race"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

func (a *app) load() *cobra.Command {
	var f loadFlags
	c := &cobra.Command{
		Use:   "load",
		Short: "Keep a strategy under load: what its guarantee costs, and what it holds up",
		Long: `Keep a strategy under load and measure what each answer costs: clients that ask again as soon as they are answered (--clients, a
closed loop), or arrivals that come whether or not the service keeps up (--rate, an open loop). Several strategies run one after
another on the same server.

Every attempt stands in the acquirer's ledger, so that a load run has a verdict: a share of the attempts repeats an earlier key
(--repeat-share), and none of those may move money again.

Times are given twice: the response time from when an attempt was to start, which is what a customer waits, and the service time from
its first statement on. A closed loop's clients wait for a stalled service before they ask again, so that its response times
understate a stall; an open loop's do not.

The result says what the tool itself took of the processors, and on how many it ran. GOMAXPROCS=1 in the environment leaves more of a
small machine to a server on it.`,
		Example: `  idemlab load --strategy=insert-first,insert-first-open-tx --duration 10s
  idemlab load --strategy=insert-first --clients 32 --acquirer-latency 0
  idemlab load --strategy=insert-first --rate 200 --stall 1s --acquirer-latency 0 --duration 6s
  idemlab load --strategy=process-mutex --instances 4 --hot-share 0.5`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options, err := f.options(a)
			if err != nil {
				return err
			}
			return a.runLoad(c.Context(), f, options)
		},
	}
	f.add(c)
	return c
}

// runLoad loads one strategy after another on one server, and puts out one document, also where it ends early.
func (a *app) runLoad(ctx context.Context, f loadFlags, options []load.Options) error {
	if err := f.output.prepare(options[0].Scenario); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, skipped, err := a.loadAll(ctx, f, options)
	if len(runs) == 0 && err != nil {
		return err
	}
	d := document(ctx, runs, err)
	d.Skipped = skipped
	return a.put(f.output, "load", started, d)
}

func (a *app) loadAll(ctx context.Context, f loadFlags, options []load.Options) (runs []results.Run, skipped []results.Skipped, err error) {
	first := options[0]
	srv, err := server.Open(ctx, f.server.options(a, first.Instances*first.Pool+load.Overhead+first.Instances))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	options, skipped, err = able(a, srv, options, func(o load.Options) scenarios.Strategy { return o.Strategy })
	if err != nil {
		return nil, skipped, err
	}
	control, err := race.Control(ctx, srv, race.Options{
		Scenario: first.Scenario, Strategy: first.Strategy, Isolation: first.Isolation, Seed: first.Seed, DDL: first.DDL,
	})
	if err != nil {
		return nil, skipped, fmt.Errorf("control: %w", err)
	}
	if first.Clients > 0 {
		a.say("a closed loop: clients wait for a stalled service before they ask again, so that response times understate stalls; --rate makes an open one")
	}
	var errs []error
	for _, o := range options {
		o.Control = &control
		show := a.liveLoad(o)
		o.Live = show.second
		run, err := load.Run(ctx, srv, o)
		show.stop()
		run.Tool.Version = version
		if run.Load != nil {
			run.Load.Settings.Schema = f.common.ddlFile
		}
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

// live shows how a load run is going: a line that changes on a terminal, a line every few seconds elsewhere.
type live struct {
	a        *app
	strategy string
	bar      *progress
	done     atomic.Int64
	every    int // seconds between two lines
	said     int
}

func (a *app) liveLoad(o load.Options) *live {
	l := &live{a: a, strategy: o.Strategy.Name, every: 1}
	if o.Duration > 20*time.Second {
		l.every = 10
	}
	l.bar = a.progress(int64((o.Warmup+o.Duration)/time.Second), &l.done)
	l.bar.describe(o.Strategy.Name)
	return l
}

func (l *live) second(p load.Progress) {
	l.done.Store(int64(p.Elapsed / time.Second))
	if p.Last.Second == l.said || p.Warming {
		return
	}
	l.said = p.Last.Second
	if l.bar.bar != nil {
		l.bar.describe(l.short(p))
	} else if l.said%l.every == 0 {
		l.a.say("%s", l.line(p))
	}
}

// line is a second in words.
func (l *live) line(p load.Progress) string {
	line := fmt.Sprintf("%s: second %d, %d attempts, %d in flight", l.strategy, p.Last.Second, p.Last.Attempts, p.Last.InFlight)
	if p50 := p.Last.P50MS; p50 != nil {
		line += fmt.Sprintf(", p50 %.1f ms", *p50)
	}
	if p99 := p.Total.P99MS; p99 != nil {
		line += fmt.Sprintf(", p99 so far %.1f ms", *p99)
	}
	if p.Dropped > 0 {
		line += fmt.Sprintf(", %d dropped", p.Dropped)
	}
	return line
}

// besideBar is what the bar and its count take of a line.
const besideBar = 42

// short is the same beside a bar: a line that does not fit its terminal cannot be taken back.
func (l *live) short(p load.Progress) string {
	text := fmt.Sprintf("%s %d/s", l.strategy, p.Last.Attempts)
	if p99 := p.Total.P99MS; p99 != nil {
		text += fmt.Sprintf(" p99 %.0fms", *p99)
	}
	if p.Dropped > 0 {
		text += fmt.Sprintf(" %d dropped", p.Dropped)
	}
	room := max(0, l.a.terminal(l.a.stderr).Width-besideBar)
	return text[:min(len(text), room)]
}

func (l *live) stop() { l.bar.stop() }
