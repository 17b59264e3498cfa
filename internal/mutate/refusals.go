package mutate

import (
	"slices"

	"github.com/jackc/pgx/v5"
)

// hideRefusals makes the rows that an INSERT gives back those that it would have given, had nothing been refused. An INSERT of a
// batch is taken to name its rows in its first argument, and to give the names back in its first column; of any other, one row is
// missed where it gives none.
func hideRefusals(sql string, args []any, changed func()) func(pgx.Rows, error) (pgx.Rows, error) {
	return func(rows pgx.Rows, err error) (pgx.Rows, error) {
		if err != nil || verb(sql) != "INSERT" {
			return rows, err
		}
		h := &hidingRows{Rows: rows, missing: []string{""}, changed: changed}
		if len(args) > 0 {
			if names, ok := args[0].([]string); ok {
				h.missing, h.named = slices.Clone(names), true
			}
		}
		return h, nil
	}
}

// hidingRows are the rows that there are, and then those that are missing.
type hidingRows struct {
	pgx.Rows
	missing []string // their names
	named   bool
	made    bool // the current row is none of PostgreSQL's
	changed func()
}

func (r *hidingRows) Next() bool {
	if !r.made && r.Rows.Next() {
		if !r.named {
			r.missing = nil
		}
		return true
	}
	if r.made {
		r.missing = r.missing[1:]
	}
	if r.made = len(r.missing) > 0 && r.Err() == nil; r.made {
		r.changed()
	}
	return r.made
}

func (r *hidingRows) Err() error {
	if err := r.Rows.Err(); !refused(err) {
		return err
	}
	return nil
}

func (r *hidingRows) Scan(dest ...any) error {
	name, isName := (*string)(nil), false
	if len(dest) > 0 {
		name, isName = dest[0].(*string)
	}
	if !r.made {
		err := r.Rows.Scan(dest...)
		if isName && r.named {
			r.missing = slices.DeleteFunc(r.missing, func(m string) bool { return m == *name })
		}
		return err
	}
	zero(dest)
	if isName {
		*name = r.missing[0]
	}
	return nil
}
