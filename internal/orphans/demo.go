package orphans

import (
	"context"
	"errors"
	"fmt"
	"time"

	"idemlab/internal/attempt"
	"idemlab/internal/recovery"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// demo is a run under way.
type demo struct {
	o      Options
	lab    *attempt.Lab
	cases  []*one
	result *results.Recovery
	end    attempt.Tally
	again  int // rows that the last pass changed, when there was nothing left to do
}

// one is an intent, what befell its first attempt, and when its client comes again.
type one struct {
	*attempt.Intent
	befalls     attempt.Befalls
	early       bool // before the reconciler's first pass
	told, later scenarios.Attempt
}

func (o Options) run(ctx context.Context, srv *server.Server, into *results.Recovery) (d *demo, err error) {
	lab, err := attempt.New(ctx, srv, attempt.Config{
		Strategy: o.Strategy, Isolation: o.Isolation, Lease: o.Lease, Seed: o.Seed, DDL: o.DDL, Keep: o.Keep, Kept: o.Kept,
		// Its time is compared, not waited for.
		Acquirer: acquirerOf(o),
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lab.Close(ctx)) }()
	d = &demo{o: o, lab: lab, result: into}
	err = d.play(ctx)
	if ctx.Err() != nil {
		ctx = context.WithoutCancel(ctx)
	}
	var last error
	if d.end, last = d.lab.Tally(ctx, "at the end"); last == nil {
		d.result.Stages = append(d.result.Stages, d.end.Stage)
	}
	d.result.Groups = d.groups()
	return d, errors.Join(err, last)
}

// play is the whole story, in its order.
func (d *demo) play(ctx context.Context) error {
	steps := []func(context.Context) error{
		d.first,
		func(ctx context.Context) error { return d.stage(ctx, "first attempts") },
		func(ctx context.Context) error { return d.wait(ctx, d.o.Lease) },
		func(ctx context.Context) error { return d.retry(ctx, true) },
		func(ctx context.Context) error { return d.reconcile(ctx, "first", 0) },
		func(ctx context.Context) error { return d.stage(ctx, "reconciled") },
		func(ctx context.Context) error { return d.retry(ctx, false) },
		d.land,
		func(ctx context.Context) error { return d.wait(ctx, max(d.o.Lease, d.o.Deadline)) },
		func(ctx context.Context) error { return d.reconcile(ctx, "second", d.o.Deadline) },
		func(ctx context.Context) error { return d.reconcile(ctx, "once more", d.o.Deadline) },
		d.repeat,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// first makes the first attempts. What is slow is held only where the acquirer takes longer than the lease: else its answer comes before
// anybody looks.
func (d *demo) first(ctx context.Context) error {
	for _, b := range d.o.Befalls {
		for n := range 2 * d.o.Each {
			it, err := d.lab.Intent(ctx)
			if err != nil {
				return err
			}
			c := &one{Intent: it, befalls: b, early: n < d.o.Each}
			d.cases = append(d.cases, c)
			happens := b
			if b.Slow() && !d.o.outlasts() {
				happens = attempt.Nothing
			}
			if _, err := d.lab.Try(ctx, it, it.Request, happens); err != nil {
				return err
			}
			if d.o.Done != nil {
				d.o.Done.Add(1)
			}
		}
	}
	return nil
}

// wait returns when every claim is older than that, by the server's clock and by ours: a lease may have been reckoned by either.
func (d *demo) wait(ctx context.Context, age time.Duration) error {
	timer := time.NewTimer(age)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		var all bool
		err := d.lab.Aside.QueryRow(ctx, `/* old */
			SELECT coalesce(bool_and(criada_em <= clock_timestamp() - make_interval(secs => $1)), true)
			  FROM cobranca
			 WHERE status = 'PROCESSANDO'`,
			age.Seconds()).Scan(&all)
		if err != nil {
			return fmt.Errorf("wait for the lease to be over: %w", err)
		}
		if all {
			return nil
		}
		time.Sleep(time.Millisecond) // a clock announces nothing
	}
}

// retry has the clients come again, those before the reconciler or those after it.
func (d *demo) retry(ctx context.Context, early bool) (err error) {
	for _, c := range d.cases {
		if c.early != early {
			continue
		}
		if c.told, err = d.lab.Try(ctx, c.Intent, c.Request, attempt.Nothing); err != nil {
			return err
		}
	}
	return nil
}

// land lets go what was held: requests that were on their way arrive, and workers that were taken for dead go on.
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

// repeat asks for each key once more, when nothing is in flight. Where the acquirer was told of the intent before, that is to be a replay.
func (d *demo) repeat(ctx context.Context) (err error) {
	ledger := d.lab.Acquirer.Counts()
	for _, c := range d.cases {
		if c.later, err = d.lab.Try(ctx, c.Intent, c.Request, attempt.Nothing); err != nil {
			return err
		}
		c.Attempts[len(c.Attempts)-1].Followup = ledger[c.Request.Key].Requests > 0
	}
	return nil
}

// reconcile makes a pass. The deadline is not for the first one: how much of it is over by then would be the machine's affair.
func (d *demo) reconcile(ctx context.Context, name string, deadline time.Duration) error {
	if d.o.Reconciler == None {
		return nil
	}
	report, err := recovery.Reconcile(ctx, d.lab.Aside, d.lab.Acquirer.For("reconciler"), recovery.Options{
		Lease: d.o.Lease, Deadline: deadline, Eager: d.o.Reconciler == Eager, AcquirerKey: d.o.Strategy.AcquirerKey,
	})
	pass := report.Document(name)
	d.result.Passes, d.again = append(d.result.Passes, pass), pass.Changed
	left := report.Left()
	d.result.Left = &left
	return err
}

func (d *demo) stage(ctx context.Context, name string) error {
	t, err := d.lab.Tally(ctx, name)
	if err != nil {
		return err
	}
	d.result.Stages = append(d.result.Stages, t.Stage)
	return nil
}
