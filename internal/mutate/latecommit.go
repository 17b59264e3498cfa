package mutate

import (
	"context"
	"errors"

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
	current *late // inside a session, what stands for l
	done    bool  // it was committed, and what follows is as it was
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
	return lateRow{r.QueryRow(ctx, sql, args...), ctx, l}
}

// lateRow sees what came of a statement in the late transaction. It keeps the context because Scan is handed none.
type lateRow struct {
	row pgx.Row
	ctx context.Context
	l   *late
}

func (r lateRow) Scan(dest ...any) error {
	err := r.row.Scan(dest...)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && r.l.tx != nil {
		return r.l.fail(r.ctx, err)
	}
	return err
}

// Session pins a connection, on which a first write outside a transaction is late as well.
func (l *late) Session(ctx context.Context, f func(scenarios.DB) error) error {
	return l.DB.Session(ctx, func(db scenarios.DB) error {
		pinned := &late{DB: db, changed: l.changed, done: l.done}
		outer := l.current
		l.current = pinned
		defer func() { l.current = outer }()
		return errors.Join(f(pinned), pinned.end(ctx))
	})
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
	if l.current != nil {
		return l.current.end(ctx)
	}
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
