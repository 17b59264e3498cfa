// Package repeats measures what one more repeat of a finished key costs: one attempt finishes the key, the same request comes again and
// again, one at a time, and PostgreSQL's counters are read before and after.
//
// Every repeat must be told the stored answer and the acquirer be told once: a cheap answer that is wrong is no bargain, and this is
// what the run is judged by.
package repeats

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/instance"
	"idemlab/internal/intents"
	"idemlab/internal/meter"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/results"
	"idemlab/scenarios"
)

// Overhead is how many connections a run holds beside its pool of one: the schema's lock, and one that prepares and reads.
const Overhead = 2

// Options say what to repeat. All fields but those marked optional must be set.
type Options struct {
	Strategy  scenarios.Strategy
	Repeats   int // that are counted
	Isolation pgx.TxIsoLevel
	Seed      uint64
	DDL       string // of schema.sql or what stands for it

	// Done counts repeats, for whoever shows progress. Optional.
	Done *atomic.Int64
}

// ErrServerLost says that the server went away or failed during the repeats.
var ErrServerLost = errors.New("PostgreSQL went away or failed")

// attemptLimit ends an attempt that hangs: nobody else is there to wait for.
const attemptLimit = time.Minute

// Run measures one strategy, in a schema of its own. A run that was interrupted (Status Aborted, no error), or that an error stopped,
// holds no figures: half of the repeats are no fewer, but nobody read the counters when they ended.
func Run(ctx context.Context, srv *server.Server, o Options) (run results.Run, err error) {
	run = describe(srv, o)
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()
	ev, err := o.measure(ctx, srv)
	run, failed := check.Ended(ctx, run, err)
	switch {
	case run.Status == results.Aborted:
		return run, leftBehind(err)
	case failed != nil:
		return run, failed
	}
	ev.fill(&run)
	return run, nil
}

// notDropped is a schema that stayed, which is an error also after Ctrl-C.
type notDropped struct{ error }

func leftBehind(err error) error {
	var n notDropped
	if errors.As(err, &n) {
		return n.error
	}
	return nil
}

func (o Options) measure(ctx context.Context, srv *server.Server) (ev *evidence, err error) {
	schema, err := tables.Create(ctx, srv, o.DDL, o.Strategy)
	if err != nil {
		return nil, err
	}
	defer func() {
		if dropErr := schema.Drop(ctx); dropErr != nil {
			err = errors.Join(err, notDropped{dropErr})
		}
	}()
	aside, err := meter.Connect(ctx, schema.Config())
	if err != nil {
		return nil, err
	}
	defer server.CloseConn(ctx, aside)
	if err := meter.NoAutovacuum(ctx, aside); err != nil {
		return nil, err
	}
	s, flush := flushable(o.Strategy)
	inst, err := instance.Open(ctx, instance.Config{Conn: schema.Config(), Pool: 1, Isolation: o.Isolation, Strategy: s, Seed: o.Seed})
	if err != nil {
		return nil, err
	}
	defer inst.Close()
	if err := inst.WarmUp(ctx); err != nil {
		return nil, err
	}
	w := &work{Options: o, inst: inst, aside: aside, acq: acquirer.New(acquirer.Options{Dedup: o.Strategy.WantsDedup}), req: intents.New(o.Seed, 1)}
	if srv.Info().VersionNum >= 150000 {
		w.flush = flush
	}
	return w.all(ctx)
}

// work is one strategy's repeats on their way.
type work struct {
	Options
	inst  *instance.Instance
	aside *pgx.Conn
	acq   *acquirer.Acquirer
	req   scenarios.Request
	flush func(context.Context, *instance.Instance) error // nil where the server knows no such thing
}

func (w *work) all(ctx context.Context) (*evidence, error) {
	ev := &evidence{work: w}
	if err := instance.Prepare(ctx, w.aside, w.Strategy.Scenario(), w.Strategy, w.req, 1); err != nil {
		return nil, err
	}
	var err error
	if ev.first, err = w.attempt(ctx); err != nil {
		return nil, err
	}
	if ev.checkpointed, err = meter.Checkpoint(ctx, w.aside); err != nil {
		return nil, err
	}
	// The first repeat after a checkpoint writes whole pages to the WAL, and stands in no mean.
	if ev.uncounted, err = w.attempt(ctx); err != nil {
		return nil, err
	}
	pid := ev.uncounted.Statements[0].PID
	before, err := w.counters(ctx, pid)
	if err != nil {
		return nil, err
	}
	for range w.Repeats {
		rec, err := w.attempt(ctx)
		if err != nil {
			return nil, err
		}
		ev.counted = append(ev.counted, rec)
		if w.Done != nil {
			w.Done.Add(1)
		}
	}
	after, err := w.counters(ctx, pid)
	if err != nil {
		return nil, err
	}
	ev.took = after.minus(before)
	ev.span = ev.counted[len(ev.counted)-1].Answered.Sub(ev.counted[0].Called)
	if ev.idle, err = w.nothing(ctx, pid, ev.span); err != nil {
		return nil, err
	}
	ev.ledger = w.acq.Counts()[w.req.Key]
	ev.rows, err = tables.Rows(ctx, w.aside, w.Strategy.Scenario(), 0, w.req.OrderID)
	return ev, err
}

// attempt sends the request once. An answer that is an error is a result; a server that is gone is none.
func (w *work) attempt(ctx context.Context) (instance.Record, error) {
	limited, cancel := context.WithTimeout(ctx, attemptLimit)
	defer cancel()
	rec := w.inst.Handle(limited, w.acq.For(w.req.Key), w.req)
	switch {
	case ctx.Err() != nil:
		return rec, ctx.Err()
	case rec.LostServer:
		return rec, fmt.Errorf("%w: %s", ErrServerLost, rec.Err)
	case len(rec.Statements) == 0:
		return rec, fmt.Errorf("the strategy %s sent nothing to the server: %s", w.Strategy.Name, rec.Err)
	}
	return rec, nil
}

// nothing waits for as long as the repeats took and counts what others write: the background that is in the repeats' figures too.
func (w *work) nothing(ctx context.Context, pid uint32, span time.Duration) (counters, error) {
	before, err := w.counters(ctx, pid)
	if err != nil {
		return counters{}, err
	}
	timer := time.NewTimer(span)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return counters{}, ctx.Err()
	}
	after, err := w.counters(ctx, pid)
	return after.minus(before), err
}
