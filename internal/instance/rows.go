package instance

import "github.com/jackc/pgx/v5"

// row ends its statement when it is scanned, which is when pgx has read the answer.
type row struct {
	pgx.Row
	sent underWay
	loan *loan // to be given back then; nil where the connection is not lent for this statement alone
}

func (r row) Scan(dest ...any) error {
	if r.loan != nil {
		defer r.loan.giveBack()
	}
	defer r.sent.answered()
	return r.Row.Scan(dest...)
}

// failedRow reports an error from before the statement was sent.
type failedRow struct{ err error }

func (r failedRow) Scan(...any) error { return r.err }

// rows ends its statement when it is closed, by hand or by reading past the last row.
type rows struct {
	pgx.Rows
	ended func()
}

func (r *rows) Next() bool {
	more := r.Rows.Next()
	if !more {
		r.end()
	}
	return more
}

func (r *rows) Close() {
	r.Rows.Close()
	r.end()
}

func (r *rows) end() {
	if r.ended != nil {
		r.ended()
		r.ended = nil
	}
}
