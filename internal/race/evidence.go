package race

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
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
	tenants map[string]map[int64]scenarios.Told // the ledger of intents in which there are several
	rows    map[int64][]scenarios.Row           // by order; nil where they could not be read
}

// outcome is one intent after its race and its follow-ups.
type outcome struct {
	intent
	attempts    []instance.Record
	repeat      instance.Record   // the same again, with nothing in flight
	mismatch    instance.Record   // the same key for another amount
	otherAnswer instance.Record   // another charge of the same order, under a key of its own
	repeats     []instance.Record // one by each side, with nothing in flight, where clients' requests differ
}

// race runs every round. An intent that was interrupted is left out whole: half of it proves nothing.
func (ev *evidence) race(ctx context.Context, schema *server.Schema, t *team) error {
	o := ev.options
	aside, err := pgx.ConnectConfig(ctx, schema.Config())
	if err != nil {
		return fmt.Errorf("connect to prepare the intents: %w", err)
	}
	defer server.CloseConn(ctx, aside)
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
	if err := instance.Prepare(ctx, aside, o.Scenario, o.Strategy, it.req, o.Attempts); err != nil {
		return outcome{}, err
	}
	requests := make([]scenarios.Request, o.Attempts)
	for i := range requests {
		requests[i] = o.Scenario.Request(it.req, i)
	}
	out := outcome{intent: it}
	var err error
	if out.attempts, err = t.shoot(ctx, it.req.Key, requests); err != nil {
		return out, err
	}
	if err := o.askAgain(ctx, t, &out); err != nil {
		return out, err
	}
	if o.Scenario.Followups {
		if err := o.followUp(ctx, aside, t, &out); err != nil {
			return out, err
		}
	}
	for _, r := range slices.Concat([]instance.Record{out.repeat, out.mismatch, out.otherAnswer}, out.repeats, out.attempts) {
		if r.LostServer {
			return out, fmt.Errorf("%w during intent %d: %s", ErrServerLost, it.number, r.Err)
		}
	}
	return out, nil
}

// askAgain has a client of either side ask once more, when nothing is in flight any more, where clients' requests differ: what each is told
// then comes from what was stored, and must be its own.
func (o Options) askAgain(ctx context.Context, t *team, out *outcome) error {
	if !o.Scenario.Acquirer || o.Scenario.Alike() {
		return nil
	}
	for n := range 2 {
		got, err := t.shoot(ctx, out.req.Key, []scenarios.Request{o.Scenario.Request(out.req, n)})
		if err != nil {
			return err
		}
		out.repeats = append(out.repeats, got[0])
	}
	return nil
}

// followUp tries the intent's key again, when nothing is in flight any more.
func (o Options) followUp(ctx context.Context, aside *pgx.Conn, t *team, out *outcome) error {
	if err := instance.Prepare(ctx, aside, o.Scenario, o.Strategy, out.other, 1); err != nil {
		return err
	}
	for _, f := range []struct {
		of  string // the intent in whose name the ledger books it
		req scenarios.Request
		rec *instance.Record
	}{
		{out.req.Key, out.req, &out.repeat},
		{out.req.Key, out.otherAmount(), &out.mismatch},
		{out.other.Key, out.other, &out.otherAnswer},
	} {
		got, err := t.shoot(ctx, f.of, []scenarios.Request{f.req})
		if err != nil {
			return err
		}
		*f.rec = got[0]
	}
	return nil
}

// givenUp counts attempts that were ended because they lasted too long.
func (ev *evidence) givenUp() (n int) {
	for _, out := range ev.intents {
		for _, r := range out.attempts {
			if r.GivenUp {
				n++
			}
		}
	}
	return n
}

// readRows reads the table from outside, also after Ctrl-C, on a connection of its own.
func (ev *evidence) readRows(ctx context.Context, schema *server.Schema) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	conn, err := pgx.ConnectConfig(last, schema.Config())
	if err != nil {
		return fmt.Errorf("connect to read the rows: %w", err)
	}
	defer server.CloseConn(ctx, conn)
	rows, err := tables.Rows(last, conn, ev.options.Scenario, 0, firstOrder) // those of the warm-up are below
	if err != nil {
		return err
	}
	ev.rows = map[int64][]scenarios.Row{}
	for _, r := range rows {
		ev.rows[r.OrderID] = append(ev.rows[r.OrderID], r)
	}
	return nil
}

// facts is an outcome as the invariants want it.
func (ev *evidence) facts(out outcome) scenarios.Intent {
	in := scenarios.Intent{Request: out.req, Clients: ev.options.Attempts, Rows: ev.rowsOf(out), RowsUnknown: ev.rows == nil, Effect: ev.options.Effect}
	c := ev.ledger[out.req.Key]
	in.Requests, in.Captures, in.Declines, in.CapturedCents = c.Requests, c.Captures, c.Declines, c.CapturedCents
	in.Tenants = ev.tenants[out.req.Key]
	for _, r := range out.attempts {
		in.Attempts = append(in.Attempts, attemptOf(r))
	}
	for _, r := range out.repeats {
		a := attemptOf(r)
		a.Followup = true
		in.Attempts = append(in.Attempts, a)
	}
	if !ev.options.Scenario.Followups {
		return in
	}
	in.Attempts = append(in.Attempts,
		scenarios.Attempt{Answer: out.repeat.Answer, HTTP: out.repeat.HTTP, Body: out.repeat.Body, Followup: true},
		scenarios.Attempt{Answer: out.mismatch.Answer, HTTP: out.mismatch.HTTP, Body: out.mismatch.Body, Followup: true, OtherAmount: true})
	other := ev.ledger[out.other.Key]
	in.Other = &scenarios.Other{Answer: out.otherAnswer.Answer, Captures: other.Captures, Declines: other.Declines}
	return in
}

func attemptOf(r instance.Record) scenarios.Attempt {
	return scenarios.Attempt{Answer: r.Answer, HTTP: r.HTTP, Body: r.Body, Tenant: r.Tenant, Astray: r.Astray}
}

// rowsOf are the rows of the order without that of its other charge, known by a key that is, or starts with, the other's.
func (ev *evidence) rowsOf(out outcome) []scenarios.Row {
	var rows []scenarios.Row
	for _, r := range ev.rows[out.req.OrderID] {
		if !strings.HasPrefix(r.Key, out.other.Key) {
			rows = append(rows, r)
		}
	}
	return rows
}
