package race

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/lockwait"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/results"
	"idemlab/scenarios"
)

// Control forces what must not be, a double charge for one, with the scenario's control strategy: the proof that the run which
// follows would have seen it on this server.
func Control(ctx context.Context, srv *server.Server, o Options) (results.Control, error) {
	s := o.Scenario.Control
	in, err := o.force(ctx, srv, s)
	if err != nil {
		return results.Control{}, err
	}
	c := results.Control{Ran: true, Strategy: s.Name}
	if o.Scenario.Acquirer && o.Scenario.Harm == "" {
		c.ForcedCharge = &results.ForcedCharge{Captures: in.Captures, DoubleCharged: in.Captures > 1}
		return c, nil
	}
	for _, f := range o.Scenario.Check(in) { // the worst first
		if o.Scenario.Harm == "" || f.Anomaly == o.Scenario.Harm {
			c.Anomaly = string(f.Anomaly)
			break
		}
	}
	return c, nil
}

// forcedLimit ends a control that hangs.
const forcedLimit = 30 * time.Second

// Forced forces two attempts at one intent upon a strategy and returns how many captures the acquirer made.
func Forced(ctx context.Context, srv *server.Server, o Options, s scenarios.Strategy) (captures int, err error) {
	in, err := o.force(ctx, srv, s)
	return in.Captures, err
}

// force makes two attempts at one intent in the worst order that can be had from outside: a gate holds the first, at the
// acquirer or in front of its second call to the database, until a second one arrives there, or the other attempt is answered,
// or it is seen waiting, in PostgreSQL or in the process. Nothing in it depends on luck or on time.
func (o Options) force(ctx context.Context, srv *server.Server, s scenarios.Strategy) (in scenarios.Intent, err error) {
	schema, err := tables.Create(ctx, srv, o.DDL, s)
	if err != nil {
		return in, err
	}
	defer func() {
		if dropErr := (Options{}).leave(ctx, schema); err == nil {
			err = dropErr
		}
	}()
	acq := acquirer.New(acquirer.Options{Dedup: s.WantsDedup}) // else none: the control must be able to fail
	var g gate
	var armed atomic.Bool
	if !o.Scenario.Acquirer {
		p := newPause()
		s, g = p.inside(s, armed.Load), p
	}
	inst, err := instance.Open(ctx, instance.Config{Conn: attemptsConfig(schema), Pool: 2, Isolation: o.Isolation, Strategy: s, Seed: o.Seed, Lease: o.Lease})
	if err != nil {
		return in, err
	}
	defer inst.Close()
	if err := inst.WarmUp(ctx); err != nil {
		return in, err
	}
	watch, err := pgx.ConnectConfig(ctx, schema.Config())
	if err != nil {
		return in, fmt.Errorf("connect to watch for waiters: %w", err)
	}
	defer server.CloseConn(ctx, watch)
	of, hangUp, err := o.reach(ctx, acq)
	if err != nil {
		return in, err
	}
	defer func() { err = errors.Join(err, hangUp()) }() // behind the attempts: they have answered by now, or failed
	it := newIntent(o.Seed, 0, 0)
	if err := instance.Prepare(ctx, watch, o.Scenario, s, it.req, 2); err != nil {
		return in, err
	}

	if o.Scenario.Acquirer {
		g = acq.Hold()
	}
	armed.Store(true)
	defer g.Open()
	answered := make(chan instance.Record, 2)
	limited, cancel := context.WithTimeout(ctx, forcedLimit) // not the attempts' own: nothing here waits for the acquirer
	defer cancel()
	for n := range 2 {
		req := o.Scenario.Request(it.req, n)
		go func() { answered <- inst.Handle(limited, of(it.req.Key), req) }()
	}
	in.Request, in.Clients, in.Effect = it.req, 2, o.Effect
	note := func(r instance.Record) {
		in.Attempts = append(in.Attempts, attemptOf(r))
	}
	left, err := secondMove(limited, g, answered, note, func() (bool, error) {
		if inst.Queued() {
			return true, nil
		}
		return lockwait.AnyWaiting(limited, watch, appName(schema))
	})
	g.Open()
	for range left {
		note(<-answered)
	}
	if err != nil {
		return in, err
	}
	c := acq.Counts()[it.req.Key]
	in.Requests, in.Captures, in.Declines = c.Requests, c.Captures, c.Declines
	in.Tenants = acq.Tenants()[it.req.Key]
	in.Rows, err = tables.Rows(ctx, watch, o.Scenario, 0, it.req.OrderID)
	return in, err
}

// secondMove returns when the second attempt has shown what it does, with the number of attempts still unanswered.
func secondMove(ctx context.Context, g gate, answered <-chan instance.Record, note func(instance.Record), waiting func() (bool, error)) (left int, err error) {
	left = 2
	look := time.NewTicker(lockwait.Interval)
	defer look.Stop()
	for arrived := 0; ; {
		select {
		case <-g.Arrivals():
			if arrived++; arrived == 2 {
				return left, nil
			}
		case r := <-answered:
			note(r)
			left--
			return left, nil
		case <-look.C:
			if arrived == 0 {
				continue // whoever waits now does not wait for the held capture
			}
			yes, err := waiting()
			if yes || err != nil {
				return left, err
			}
		case <-ctx.Done():
			return left, fmt.Errorf("force two attempts: %w", context.Cause(ctx))
		}
	}
}
