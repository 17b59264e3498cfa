package instance

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"idemlab/scenarios"
)

// pooled is scenarios.DB on a pool: each call takes a connection and gives it back as soon as the call, the rows, the
// transaction or the session ends. What "commit before calling the acquirer" buys is visible only because of this.
type pooled struct {
	pool   *pgxpool.Pool
	wanted *atomic.Int64 // connections of the pool that are held or waited for, by anybody
	size   int64
	rec    *recorder
}

// take waits for a connection and returns it with the loan that it is. Only where no connection
// was free is the time a wait for the pool: taking a free one is quick, and slow only where the CPU is busy elsewhere.
func (d pooled) take(ctx context.Context) (pinned, *loan, error) {
	// Asked of the pool, "is one free?" would be a check before an act: another attempt may take it in between.
	queues := d.wanted.Add(1) > d.size
	var asked time.Time
	if queues {
		asked = time.Now()
	}
	c, err := d.pool.Acquire(ctx)
	got := time.Now()
	if queues {
		d.rec.waited(got.Sub(asked))
	}
	if err != nil {
		d.wanted.Add(-1)
		return pinned{}, nil, err
	}
	return pinned{c.Conn(), d.rec}, d.rec.lend(c, got, d.wanted), nil
}

func (d pooled) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	c, l, err := d.take(ctx)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer l.giveBack()
	return c.Exec(ctx, sql, args...)
}

func (d pooled) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	c, l, err := d.take(ctx)
	if err != nil {
		return nil, err
	}
	r, err := c.Query(ctx, sql, args...)
	if err != nil {
		l.giveBack()
		return nil, err
	}
	return &rows{r, l.giveBack}, nil
}

func (d pooled) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	c, l, err := d.take(ctx)
	if err != nil {
		return failedRow{err}
	}
	return c.queryRow(ctx, l, sql, args)
}

func (d pooled) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	c, l, err := d.take(ctx)
	if err != nil {
		return nil, err
	}
	t, err := c.BeginTx(ctx, opts)
	if err != nil {
		l.giveBack()
		return nil, err
	}
	return &released{t, l}, nil
}

func (d pooled) Session(ctx context.Context, f func(scenarios.DB) error) error {
	c, l, err := d.take(ctx)
	if err != nil {
		return err
	}
	defer l.giveBack()
	return f(c)
}

// released is a transaction that gives its connection back when it ends.
type released struct {
	pgx.Tx
	loan *loan
}

func (t *released) Commit(ctx context.Context) error {
	defer t.loan.giveBack()
	return t.Tx.Commit(ctx)
}

func (t *released) Rollback(ctx context.Context) error {
	defer t.loan.giveBack()
	return t.Tx.Rollback(ctx)
}
