package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// result is a statement's whole answer: a step is over when its answer has been read, not when its first row has.
type result struct {
	conn   *pgx.Conn
	fields []pgconn.FieldDescription
	rows   [][][]byte
	tag    pgconn.CommandTag
	err    error
	late   bool // the error came with the rows, not from Query itself
}

// runner runs one statement on a connection.
type runner func(context.Context, *pgx.Conn) *result

func failed(err error) *result { return &result{err: err} }

func executing(sql string, args []any) runner {
	return func(ctx context.Context, conn *pgx.Conn) *result {
		tag, err := conn.Exec(ctx, sql, args...)
		return &result{conn: conn, tag: tag, err: err}
	}
}

func querying(sql string, args []any) runner {
	return func(ctx context.Context, conn *pgx.Conn) *result {
		rows, err := conn.Query(ctx, sql, args...)
		if err != nil {
			return &result{conn: conn, err: err}
		}
		r := &result{conn: conn, fields: slices.Clone(rows.FieldDescriptions())}
		for rows.Next() {
			var values [][]byte
			for _, v := range rows.RawValues() {
				values = append(values, slices.Clone(v)) // the connection's buffer is used again; Clone keeps nil nil
			}
			r.rows = append(r.rows, values)
		}
		r.fields = slices.Clone(rows.FieldDescriptions()) // known by now, if they were not before the first row
		rows.Close()
		r.tag, r.err, r.late = rows.CommandTag(), rows.Err(), true
		return r
	}
}

// unless makes err the answer's error, if there is one.
func (r *result) unless(err error) *result {
	if err != nil {
		r.err, r.late = err, true
	}
	return r
}

// changed is how many rows PostgreSQL says were written, and −1 where what it counts is something else.
func (r *result) changed() int64 {
	if r.err == nil && (r.tag.Insert() || r.tag.Update() || r.tag.Delete()) {
		return r.tag.RowsAffected()
	}
	return -1
}

// words is the answer in a form that is the same whenever the same thing happens.
func (r *result) words() string {
	if r.err != nil {
		return inWords(r.err)
	}
	n := r.tag.RowsAffected()
	if n == 1 {
		return "1 row"
	}
	return fmt.Sprintf("%d rows", n)
}

func inWords(err error) string {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &pg):
		return "ERROR " + pg.Code
	case errors.Is(err, pgx.ErrTxCommitRollback):
		return "rolled back"
	}
	return "error: " + err.Error()
}

func (r *result) asRows() (pgx.Rows, error) {
	if r.err != nil && !r.late {
		return &buffered{result: r, at: -1}, r.err
	}
	return &buffered{result: r, at: -1}, nil
}

// errBusy is what pgx says to who wants something of a connection whose rows are not read to their end or closed.
var errBusy = errors.New("conn busy")

// reads remembers the rows that a transaction, or a connection of the strategy's own, is to be done with before anything else.
func (a *attempt) reads(rows pgx.Rows, err error) (pgx.Rows, error) {
	if b, ok := rows.(*buffered); ok && err == nil {
		a.s.rows = b
	}
	return rows, err
}

// reading is errBusy where it is not done with them; the call that was entered is then none.
func (a *attempt) reading() error {
	if b := a.s.rows; b == nil || b.closed {
		return nil
	}
	a.leave()
	return errBusy
}

// buffered is pgx.Rows over rows already read.
type buffered struct {
	*result
	at     int
	closed bool
	scan   error
}

func (b *buffered) Close()                                       { b.closed = true }
func (b *buffered) CommandTag() pgconn.CommandTag                { return b.tag }
func (b *buffered) FieldDescriptions() []pgconn.FieldDescription { return b.fields }
func (b *buffered) Conn() *pgx.Conn                              { return nil } // not for strategies
func (b *buffered) TypeMap() *pgtype.Map                         { return b.conn.TypeMap() }
func (b *buffered) RawValues() [][]byte                          { return b.rows[b.at] }

func (b *buffered) Err() error {
	if b.scan != nil {
		return b.scan
	}
	return b.err
}

func (b *buffered) Next() bool {
	if b.closed || b.at+1 >= len(b.rows) {
		b.closed = true
		return false
	}
	b.at++
	return true
}

func (b *buffered) Scan(dest ...any) error {
	if len(dest) == 1 {
		if rs, ok := dest[0].(pgx.RowScanner); ok {
			return b.fail(rs.ScanRow(b))
		}
	}
	return b.fail(pgx.ScanRow(b.conn.TypeMap(), b.fields, b.rows[b.at], dest...))
}

// fail ends the reading at the first row that cannot be scanned, as pgx does.
func (b *buffered) fail(err error) error {
	if err != nil {
		b.scan, b.closed = err, true
	}
	return err
}

func (b *buffered) Values() ([]any, error) {
	var out []any
	types := b.conn.TypeMap()
	for i, raw := range b.rows[b.at] {
		f := b.fields[i]
		switch t, ok := types.TypeForOID(f.DataTypeOID); {
		case raw == nil:
			out = append(out, nil)
		case ok:
			v, err := t.Codec.DecodeValue(types, f.DataTypeOID, f.Format, raw)
			if err != nil {
				return nil, b.fail(err)
			}
			out = append(out, v)
		default:
			out = append(out, string(raw))
		}
	}
	return out, nil
}

// row is pgx.Row over a row already read.
type row struct{ *result }

func (r row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	rows := &buffered{result: r.result, at: -1}
	if !rows.Next() {
		return pgx.ErrNoRows
	}
	return rows.Scan(dest...)
}
