package mutate

import (
	"context"
	"errors"
	"reflect"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/scenarios"
)

// hiding is a DB in which no INSERT is ever refused: no row back looks like a row, and a unique violation like success.
type hiding struct {
	scenarios.DB
	changed func()
}

func refusalHidden(db scenarios.DB, acq scenarios.Acquirer, changed func()) (scenarios.DB, scenarios.Acquirer, func(context.Context) error) {
	return hiding{db, changed}, acq, nil
}

func (h hiding) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	tag, err := h.DB.Exec(ctx, sql, args...)
	return hideRefusal(sql, tag, err, h.changed)
}

func (h hiding) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return hidingRow{h.DB.QueryRow(ctx, sql, args...), verb(sql) == "INSERT", h.changed}
}

func (h hiding) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return hideRefusals(sql, args, h.changed)(h.DB.Query(ctx, sql, args...))
}

func (h hiding) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	tx, err := h.DB.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	return hidingTx{tx, h.changed}, nil
}

func (h hiding) Session(ctx context.Context, f func(scenarios.DB) error) error {
	return h.DB.Session(ctx, func(db scenarios.DB) error { return f(hiding{db, h.changed}) })
}

// refused says whether an INSERT was, by a unique violation.
func refused(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}

func hideRefusal(sql string, tag pgconn.CommandTag, err error, changed func()) (pgconn.CommandTag, error) {
	if verb(sql) != "INSERT" {
		return tag, err
	}
	if refused(err) || err == nil && tag.RowsAffected() == 0 {
		changed()
		return pgconn.NewCommandTag("INSERT 0 1"), nil
	}
	return tag, err
}

type hidingTx struct {
	pgx.Tx
	changed func()
}

func (t hidingTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	tag, err := t.Tx.Exec(ctx, sql, args...)
	return hideRefusal(sql, tag, err, t.changed)
}

func (t hidingTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return hideRefusals(sql, args, t.changed)(t.Tx.Query(ctx, sql, args...))
}

func (t hidingTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return hidingRow{t.Tx.QueryRow(ctx, sql, args...), verb(sql) == "INSERT", t.changed}
}

type hidingRow struct {
	pgx.Row
	insert  bool
	changed func()
}

// Scan leaves zero values where the INSERT gave no row.
func (r hidingRow) Scan(dest ...any) error {
	err := r.Row.Scan(dest...)
	if !r.insert || !errors.Is(err, pgx.ErrNoRows) && !refused(err) {
		return err
	}
	r.changed()
	zero(dest)
	return nil
}

func zero(dest []any) {
	for _, d := range dest {
		if v := reflect.ValueOf(d); v.Kind() == reflect.Pointer && !v.IsNil() {
			v.Elem().SetZero()
		}
	}
}
