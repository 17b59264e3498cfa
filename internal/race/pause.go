package race

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/scenarios"
)

// gate is where the attempts of a forced order stand until all has been seen that is to be seen.
type gate interface {
	Arrivals() <-chan struct{} // receives once for each attempt that came
	Open()
}

// pause is a gate between what an attempt reads and what it does about it: in front of its second call to the database. It
// stands in for the acquirer's gate where no money moves there. A strategy that is done with one call never comes to it.
//
// Once it is open the attempts go on one after another: side by side, at REPEATABLE READ and above, PostgreSQL would refuse one
// of them by luck, and the control with it.
type pause struct {
	arrivals, open, turn chan struct{}
	once                 sync.Once
}

func newPause() *pause {
	// As many as a forced order has, so that nobody waits for somebody to look.
	return &pause{arrivals: make(chan struct{}, 2), open: make(chan struct{}), turn: make(chan struct{}, 1)}
}

func (p *pause) Arrivals() <-chan struct{} { return p.arrivals }
func (p *pause) Open()                     { p.once.Do(func() { close(p.open) }) }

// inside puts the pause into a strategy. Nothing of it shows before armed says so, in a warm-up for one.
func (p *pause) inside(s scenarios.Strategy, armed func() bool) scenarios.Strategy {
	inner := s.New
	s.New = func(env scenarios.Env) scenarios.Handler {
		handle := inner(env)
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if armed() {
				d := &paused{DB: db, pause: p}
				defer d.done()
				db = d
			}
			return handle(ctx, db, acq, req)
		}
	}
	return s
}

// paused is one attempt's database.
type paused struct {
	scenarios.DB
	pause *pause
	turn  atomic.Bool  // it has the turn
	calls atomic.Int32 // a strategy may call from several goroutines
}

// called waits in front of the second call. The error of a context that ends is the call's own.
func (d *paused) called(ctx context.Context) {
	if d.calls.Add(1) != 2 {
		return
	}
	d.pause.arrivals <- struct{}{}
	select {
	case <-d.pause.open:
	case <-ctx.Done():
	}
	select {
	case d.pause.turn <- struct{}{}:
		d.turn.Store(true)
	case <-ctx.Done():
	}
}

// done lets the other go on.
func (d *paused) done() {
	if d.turn.Load() {
		<-d.pause.turn
	}
}

func (d *paused) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	d.called(ctx)
	return d.DB.Exec(ctx, sql, args...)
}

func (d *paused) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	d.called(ctx)
	return d.DB.Query(ctx, sql, args...)
}

func (d *paused) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	d.called(ctx)
	return d.DB.QueryRow(ctx, sql, args...)
}

func (d *paused) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	d.called(ctx)
	return d.DB.BeginTx(ctx, opts)
}
