package race

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/instance"
	"idemlab/internal/lockwait"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

// evidence is everything that a race measured, before it is judged.
type evidence struct {
	options Options
	intents []outcome // those that came to their end
	samples lockwait.Samples
	ledger  map[string]acquirer.Count
	rows    map[int64][]check.Row // by order; nil where they could not be read
}

// outcome is one intent after its race and its follow-ups.
type outcome struct {
	intent
	attempts []instance.Record
	repeat   instance.Record // the same again, with nothing in flight
	mismatch instance.Record // the same key for another amount
}

// race runs every round. An intent that was interrupted is left out whole: half of it proves nothing.
func (ev *evidence) race(ctx context.Context, schema *server.Schema, t *team) error {
	o := ev.options
	aside, err := pgx.ConnectConfig(ctx, schema.Config())
	if err != nil {
		return fmt.Errorf("connect to prepare the intents: %w", err)
	}
	defer aside.Close(context.WithoutCancel(ctx))
	for round := range o.Rounds {
		for i := range o.Intents {
			out, err := o.raceIntent(ctx, aside, t, newIntent(o.Seed, round*o.Intents+i+1, round))
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			ev.intents = append(ev.intents, out)
			if o.Done != nil {
				o.Done.Add(1)
			}
		}
	}
	return nil
}

func (o Options) raceIntent(ctx context.Context, aside *pgx.Conn, t *team, it intent) (outcome, error) {
	if err := instance.Prepare(ctx, aside, o.Strategy, it.req); err != nil {
		return outcome{}, err
	}
	requests := make([]scenarios.Request, o.Attempts)
	for i := range requests {
		requests[i] = it.req
	}
	out := outcome{intent: it}
	var err error
	if out.attempts, err = t.shoot(ctx, it.req.Key, requests); err != nil {
		return out, err
	}
	after := make([]instance.Record, 0, 2)
	for _, r := range []scenarios.Request{it.req, it.otherAmount()} {
		got, err := t.shoot(ctx, it.req.Key, []scenarios.Request{r})
		if err != nil {
			return out, err
		}
		after = append(after, got[0])
	}
	out.repeat, out.mismatch = after[0], after[1]
	for _, r := range append(after, out.attempts...) {
		if r.LostConnection {
			return out, fmt.Errorf("%w during intent %d: %s", ErrConnectionLost, it.number, r.Err)
		}
	}
	return out, nil
}

// readRows reads the table from outside, also after Ctrl-C, on a connection of its own.
func (ev *evidence) readRows(ctx context.Context, schema *server.Schema) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(last, schema.Config())
	if err != nil {
		return fmt.Errorf("connect to read the rows: %w", err)
	}
	defer conn.Close(last)
	rows, err := tables.Rows(last, conn)
	if err != nil {
		return err
	}
	ev.rows = map[int64][]check.Row{}
	for _, r := range rows {
		ev.rows[r.OrderID] = append(ev.rows[r.OrderID], r)
	}
	return nil
}

// facts is an outcome as the invariants want it.
func (ev *evidence) facts(out outcome) check.Intent {
	in := check.Intent{Rows: ev.rows[out.req.OrderID], RowsUnknown: ev.rows == nil}
	c := ev.ledger[out.req.Key]
	in.Requests, in.Captures, in.Declines = c.Requests, c.Captures, c.Declines
	for _, r := range out.attempts {
		in.Attempts = append(in.Attempts, check.Attempt{Answer: r.Answer, HTTP: r.HTTP, Body: r.Body})
	}
	in.Attempts = append(in.Attempts,
		check.Attempt{Answer: out.repeat.Answer, HTTP: out.repeat.HTTP, Body: out.repeat.Body, Followup: true},
		check.Attempt{Answer: out.mismatch.Answer, HTTP: out.mismatch.HTTP, Body: out.mismatch.Body, Followup: true, OtherAmount: true})
	return in
}
