package race

import (
	"context"
	"fmt"
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

// Control forces a double charge on this server, with the scenario's control strategy: the proof that the run which follows
// would have seen one.
func Control(ctx context.Context, srv *server.Server, o Options) (results.Control, error) {
	s := o.Scenario.Control
	captures, err := Forced(ctx, srv, o, s)
	if err != nil {
		return results.Control{}, err
	}
	return results.Control{Ran: true, Strategy: s.Name, Captures: captures, DoubleCharged: captures > 1}, nil
}

// forcedLimit ends a control that hangs.
const forcedLimit = 30 * time.Second

// Forced makes two attempts at one intent in the worst order that can be had from outside: the acquirer's gate holds the first
// capture until a second one arrives, or the other attempt is answered, or it is seen waiting, in PostgreSQL or in the process.
// It returns how many captures the acquirer made. Nothing in it depends on luck or on time.
func Forced(ctx context.Context, srv *server.Server, o Options, s scenarios.Strategy) (captures int, err error) {
	schema, err := tables.Create(ctx, srv, o.DDL, s)
	if err != nil {
		return 0, err
	}
	defer func() {
		if dropErr := (Options{}).leave(ctx, schema); err == nil {
			err = dropErr
		}
	}()
	inst, err := instance.Open(ctx, instance.Config{Conn: attemptsConfig(schema), Pool: 2, Isolation: o.Isolation, Strategy: s, Seed: o.Seed, Lease: o.Lease})
	if err != nil {
		return 0, err
	}
	defer inst.Close()
	if err := inst.WarmUp(ctx); err != nil {
		return 0, err
	}
	watch, err := pgx.ConnectConfig(ctx, schema.Config())
	if err != nil {
		return 0, fmt.Errorf("connect to watch for waiters: %w", err)
	}
	defer server.CloseConn(ctx, watch)
	it := newIntent(o.Seed, 0, 0)
	if err := instance.Prepare(ctx, watch, s, it.req); err != nil {
		return 0, err
	}

	acq := acquirer.New(acquirer.Options{Dedup: s.WantsDedup}) // else none: the control must be able to fail
	gate := acq.Hold()
	defer gate.Open()
	answered := make(chan instance.Record, 2)
	limited, cancel := context.WithTimeout(ctx, forcedLimit) // not the attempts' own: nothing here waits for the acquirer
	defer cancel()
	for range 2 {
		go func() { answered <- inst.Handle(limited, acq.For(it.req.Key), it.req) }()
	}
	left, err := secondMove(limited, gate, answered, func() (bool, error) {
		if inst.Queued() {
			return true, nil
		}
		return lockwait.AnyWaiting(limited, watch, appName(schema))
	})
	gate.Open()
	for range left {
		<-answered
	}
	if err != nil {
		return 0, err
	}
	return acq.Counts()[it.req.Key].Captures, nil
}

// secondMove returns when the second attempt has shown what it does, with the number of attempts still unanswered.
func secondMove(ctx context.Context, gate *acquirer.Gate, answered <-chan instance.Record, waiting func() (bool, error)) (left int, err error) {
	left = 2
	look := time.NewTicker(lockwait.Interval)
	defer look.Stop()
	for arrived := 0; ; {
		select {
		case <-gate.Arrivals():
			if arrived++; arrived == 2 {
				return left, nil
			}
		case <-answered:
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
