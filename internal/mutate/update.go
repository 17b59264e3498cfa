package mutate

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/scenarios"
)

// forgetting is a DB that rolls every UPDATE back after it has answered: the record that never was.
type forgetting struct {
	scenarios.DB
	changed func()
}

func updateDropped(db scenarios.DB, acq scenarios.Acquirer, changed func()) (scenarios.DB, scenarios.Acquirer, func(context.Context) error) {
	return forgetting{db, changed}, acq, nil
}

func (f forgetting) Exec(ctx context.Context, sql string, args ...any) (tag pgconn.CommandTag, err error) {
	if verb(sql) != "UPDATE" {
		return f.DB.Exec(ctx, sql, args...)
	}
	f.changed()
	tx, err := f.DB.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return tag, err
	}
	defer tx.Rollback(ctx)
	return tx.Exec(ctx, sql, args...)
}

func (f forgetting) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if verb(sql) != "UPDATE" {
		return f.DB.QueryRow(ctx, sql, args...)
	}
	f.changed()
	tx, err := f.DB.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return failedRow{err}
	}
	return forgottenRow{tx.QueryRow(ctx, sql, args...), ctx, tx}
}

func (f forgetting) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if verb(sql) != "UPDATE" {
		return f.DB.Query(ctx, sql, args...)
	}
	f.changed()
	tx, err := f.DB.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, errors.Join(err, tx.Rollback(ctx))
	}
	return &forgottenRows{Rows: rows, ctx: ctx, tx: tx}, nil
}

func (f forgetting) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	tx, err := f.DB.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return forgettingTx{tx, f.changed}, nil
}

func (f forgetting) Session(ctx context.Context, use func(scenarios.DB) error) error {
	return f.DB.Session(ctx, func(db scenarios.DB) error { return use(forgetting{db, f.changed}) })
}

// forgottenRow rolls back when it is scanned. It keeps the context because Scan is handed none.
type forgottenRow struct {
	row pgx.Row
	ctx context.Context
	tx  pgx.Tx
}

func (r forgottenRow) Scan(dest ...any) error {
	defer r.tx.Rollback(r.ctx)
	return r.row.Scan(dest...)
}

// forgottenRows roll back when they have been read, or are closed.
type forgottenRows struct {
	pgx.Rows
	ctx context.Context
	tx  pgx.Tx
}

func (r *forgottenRows) Next() bool {
	more := r.Rows.Next()
	if !more {
		r.Close()
	}
	return more
}

func (r *forgottenRows) Close() {
	r.Rows.Close()
	if r.tx != nil {
		_ = r.tx.Rollback(r.ctx) // what cannot be undone will show
		r.tx = nil
	}
}

// forgettingTx undoes an UPDATE with a savepoint, so that the rest of the transaction stands.
type forgettingTx struct {
	pgx.Tx
	changed func()
}

func (t forgettingTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return forgetting{asDB{t.Tx}, t.changed}.Exec(ctx, sql, args...)
}

func (t forgettingTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return forgetting{asDB{t.Tx}, t.changed}.Query(ctx, sql, args...)
}

func (t forgettingTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return forgetting{asDB{t.Tx}, t.changed}.QueryRow(ctx, sql, args...)
}

// asDB lets a transaction stand for a DB: to begin is then a savepoint.
type asDB struct{ pgx.Tx }

func (d asDB) BeginTx(ctx context.Context, _ pgx.TxOptions) (pgx.Tx, error) { return d.Tx.Begin(ctx) }

func (d asDB) Session(_ context.Context, f func(scenarios.DB) error) error { return f(d) }
