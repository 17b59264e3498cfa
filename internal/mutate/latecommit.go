package mutate

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/scenarios"
)

// late is a DB whose first autocommit write opens a transaction that stays open until the acquirer has answered: the article's
// "commit before you call" undone.
type late struct {
	scenarios.DB
	changed func()
	tx      pgx.Tx
	done    bool // it was committed, and what follows is as it was
}

func lateCommit(db scenarios.DB, acq scenarios.Acquirer, changed func()) (scenarios.DB, scenarios.Acquirer, func(context.Context) error) {
	l := &late{DB: db, changed: changed}
	return l, lateAcquirer{acq, l}, l.end
}

// open returns where a statement is to run: in the transaction held open, or outside.
func (l *late) open(ctx context.Context, sql string) (runner, error) {
	switch {
	case l.tx != nil:
		return l.tx, nil
	case l.done || !isWrite(sql):
		return l.DB, nil
	}
	tx, err := l.DB.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return nil, err
	}
	l.changed()
	l.tx = tx
	return tx, nil
}

// runner is what a DB and a transaction have in common.
type runner interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func (l *late) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	r, err := l.open(ctx, sql)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	tag, err := r.Exec(ctx, sql, args...)
	if err != nil && l.tx != nil {
		return tag, l.fail(ctx, err)
	}
	return tag, err
}

func (l *late) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	r, err := l.open(ctx, sql)
	if err != nil {
		return nil, err
	}
	return r.Query(ctx, sql, args...)
}

func (l *late) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	r, err := l.open(ctx, sql)
	if err != nil {
		return failedRow{err}
	}
	return r.QueryRow(ctx, sql, args...)
}

// fail ends a transaction that an error has broken, so that what the strategy does about the error runs outside, as it would
// have without the mutant.
func (l *late) fail(ctx context.Context, err error) error {
	_ = l.tx.Rollback(ctx) // the error that led here is the news
	l.tx, l.done = nil, true
	return err
}

// end commits what is still open: a duplicate never calls the acquirer.
func (l *late) end(ctx context.Context) error {
	if l.tx == nil {
		return nil
	}
	tx := l.tx
	l.tx, l.done = nil, true
	return tx.Commit(ctx)
}

type lateAcquirer struct {
	scenarios.Acquirer
	l *late
}

func (a lateAcquirer) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	receipt, err := a.Acquirer.Capture(ctx, c)
	if endErr := a.l.end(ctx); err == nil {
		err = endErr
	}
	return receipt, err
}

type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }
