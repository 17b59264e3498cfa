package expiry

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/attempt"
	"idemlab/internal/purge"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// demo is a run under way.
type demo struct {
	o      Options
	lab    *attempt.Lab
	cases  []*one
	result *results.Expiry
	end    attempt.Tally
}

// one is an intent, of what kind it is, and what its client was told.
type one struct {
	*attempt.Intent
	kind        string
	told, later scenarios.Attempt
}

// The kinds.
const (
	answered   = "answered"
	unfinished = "unfinished"
	fresh      = "fresh"
)

func (o Options) run(ctx context.Context, srv *server.Server, into *results.Expiry) (d *demo, err error) {
	lab, err := attempt.New(ctx, srv, attempt.Config{
		Strategy: o.Strategy, Isolation: o.Isolation, Seed: o.Seed, DDL: o.DDL, Keep: o.Keep, Kept: o.Kept, Acquirer: o.Acquirer,
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lab.Close(ctx)) }()
	d = &demo{o: o, lab: lab, result: into}
	err = d.play(ctx)
	var last error
	if d.end, last = d.lab.Tally(context.WithoutCancel(ctx), "at the end"); last == nil {
		d.result.Stages = append(d.result.Stages, d.end.Stage)
	}
	d.result.Groups = d.groups()
	return d, errors.Join(err, last)
}

// play is the whole story, in its order.
func (d *demo) play(ctx context.Context) error {
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return d.first(ctx, answered, d.o.Answered, attempt.Nothing) },
		func(ctx context.Context) error { return d.first(ctx, unfinished, d.o.Unfinished, attempt.SlowAnswer) },
		func(ctx context.Context) error { return d.stage(ctx, "first day") },
		func(ctx context.Context) error { return d.lab.Pass(ctx, d.o.RetryAfter) },
		d.purge,
		func(ctx context.Context) error { return d.stage(ctx, "purged") },
		d.retry,
		d.land,
		d.repeat,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) first(ctx context.Context, kind string, n int, b attempt.Befalls) error {
	for range n {
		it, err := d.lab.Intent(ctx)
		if err != nil {
			return err
		}
		c := &one{Intent: it, kind: kind}
		d.cases = append(d.cases, c)
		if c.told, err = d.lab.Try(ctx, it, it.Request, b); err != nil {
			return err
		}
		if d.o.Done != nil {
			d.o.Done.Add(1)
		}
	}
	return nil
}

// purge has the purger at work while fresh intents are charged, and then looks whose rows are gone.
func (d *demo) purge(ctx context.Context) error {
	before, err := d.lab.Rows(ctx)
	if err != nil {
		return err
	}
	if d.o.Purge == Nothing {
		return d.first(ctx, fresh, d.o.Fresh, attempt.Nothing)
	}
	cfg := d.lab.Config()
	cfg.RuntimeParams["default_transaction_isolation"] = string(pgx.ReadCommitted)
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connect the purger: %w", err)
	}
	defer server.CloseConn(ctx, conn)
	type end struct {
		purge.Report
		error
	}
	ended := make(chan end, 1)
	go func() {
		r, err := purge.Purge(ctx, conn, purge.Options{Lifetime: d.o.Lifetime, Batch: d.o.Batch, Careless: d.o.Purge == Everything})
		ended <- end{r, err}
	}()
	err = d.first(ctx, fresh, d.o.Fresh, attempt.Nothing)
	e := <-ended
	d.result.Deleted, d.result.Batches = e.Deleted, e.Batches
	if err := errors.Join(err, e.error); err != nil {
		return err
	}
	after, err := d.lab.Rows(ctx)
	for _, c := range d.cases {
		c.Purged = len(after[c.Request.OrderID]) < len(before[c.Request.OrderID])
	}
	return err
}

// retry has the clients of old intents come again.
func (d *demo) retry(ctx context.Context) (err error) {
	for _, c := range d.cases {
		if c.kind == fresh {
			continue
		}
		if c.told, err = d.lab.Try(ctx, c.Intent, c.Request, attempt.Nothing); err != nil {
			return err
		}
	}
	return nil
}

// land lets the attempts go that were at the acquirer all the time.
func (d *demo) land(ctx context.Context) error {
	for _, c := range d.cases {
		if !c.Held() {
			continue
		}
		if err := d.lab.Land(ctx, c.Intent); err != nil {
			return err
		}
	}
	return nil
}

// repeat asks for each key once more, when nothing is in flight.
func (d *demo) repeat(ctx context.Context) (err error) {
	for _, c := range d.cases {
		if c.later, err = d.lab.Try(ctx, c.Intent, c.Request, attempt.Nothing); err != nil {
			return err
		}
		c.Attempts[len(c.Attempts)-1].Followup = true
	}
	return nil
}

func (d *demo) stage(ctx context.Context, name string) error {
	t, err := d.lab.Tally(ctx, name)
	if err != nil {
		return err
	}
	d.result.Stages = append(d.result.Stages, t.Stage)
	return nil
}

// groups adds the intents up by their kinds.
func (d *demo) groups() []results.ExpiryGroup {
	ledger := d.lab.Acquirer.Counts()
	groups := []results.ExpiryGroup{}
	for _, kind := range []string{answered, unfinished, fresh} {
		g := results.ExpiryGroup{Kind: kind, Told: map[string]int{}, Later: map[string]int{}}
		for _, c := range d.cases {
			if c.kind != kind {
				continue
			}
			g.Intents++
			captures := ledger[c.Request.Key].Captures
			g.Captures += captures
			if captures > 1 {
				g.DoubleCharged++
			}
			if c.Purged {
				g.Purged++
			}
			attempt.CountAnswer(g.Told, c.told)
			attempt.CountAnswer(g.Later, c.later)
		}
		if g.Intents > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}
