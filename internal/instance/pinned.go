package instance

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/scenarios"
)

// querier is what a connection and a transaction have in common.
type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// pinned is scenarios.DB on one connection, which its owner gives back.
type pinned struct {
	conn *pgx.Conn
	rec  *recorder
}

func (d pinned) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return exec(ctx, d.conn, d.sending(sql), sql, args)
}

func (d pinned) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return query(ctx, d.conn, d.sending(sql), sql, args)
}

func (d pinned) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return d.queryRow(ctx, nil, sql, args)
}

// queryRow gives the loan back, where it is one, when the row is scanned.
func (d pinned) queryRow(ctx context.Context, l *loan, sql string, args []any) pgx.Row {
	sent := d.sending(sql)
	return row{d.conn.QueryRow(ctx, sql, args...), sent, l}
}

func (d pinned) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	defer d.step("begin").answered()
	t, err := d.conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return tx{t, d}, nil
}

func (d pinned) Session(_ context.Context, f func(scenarios.DB) error) error { return f(d) }

func (d pinned) sending(sql string) underWay {
	return d.step(scenarios.StepOf(sql))
}

func exec(ctx context.Context, q querier, sent underWay, sql string, args []any) (pgconn.CommandTag, error) {
	defer sent.answered()
	return q.Exec(ctx, sql, args...)
}

func query(ctx context.Context, q querier, sent underWay, sql string, args []any) (pgx.Rows, error) {
	r, err := q.Query(ctx, sql, args...)
	if err != nil {
		sent.answered()
		return nil, err
	}
	return &rows{r, sent.answered}, nil
}

// tx records a transaction's statements, BEGIN and COMMIT included.
type tx struct {
	pgx.Tx
	d pinned
}

func (t tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return exec(ctx, t.Tx, t.d.sending(sql), sql, args)
}

func (t tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return query(ctx, t.Tx, t.d.sending(sql), sql, args)
}

func (t tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	sent := t.d.sending(sql)
	return row{t.Tx.QueryRow(ctx, sql, args...), sent, nil}
}

// Begin opens a savepoint (pgx's nested transaction).
func (t tx) Begin(ctx context.Context) (pgx.Tx, error) {
	defer t.d.step("savepoint").answered()
	inner, err := t.Tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return tx{inner, t.d}, nil
}

func (t tx) Commit(ctx context.Context) error {
	defer t.d.step("commit").answered()
	return t.Tx.Commit(ctx)
}

func (t tx) Rollback(ctx context.Context) error {
	sent := t.d.step("rollback")
	err := t.Tx.Rollback(ctx)
	if err != pgx.ErrTxClosed { // the deferred rollback after a commit sends nothing
		sent.answered()
	}
	return err
}

// Conn is not for strategies: what is done there no engine sees.
func (t tx) Conn() *pgx.Conn { return nil }
