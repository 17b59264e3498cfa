package stored

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/results"
)

// answersToStore are bodies that services give, and what is remarkable about each.
func answersToStore() []struct{ what, body string } {
	return []struct{ what, body string }{
		{"members in an order of one's own", `{"captura": "cap-000001", "status": "CAPTURADA"}`},
		{"numbers as they were spelt", `{"taxa": 1e2, "valor": 250.00}`},
		{"no blanks", `{"captura":"cap-000001"}`},
		{"a member twice", `{"taxa": 1, "taxa": 2}`},
		{`the escape \u0000`, `{"nome": "\u0000"}`},
		{"no JSON", `<html>502 Bad Gateway</html>`},
		{"bytes that are no text", "\xff\xfe"},
	}
}

// Columns stores each answer in a column of each type, and reads it back.
func Columns(ctx context.Context, conn *pgx.Conn) ([]results.StoredColumn, error) {
	var columns []results.StoredColumn
	for _, kind := range []struct{ name, put, get string }{
		{"jsonb", `$1::text::jsonb`, `convert_to(corpo::text, 'UTF8')`},
		{"json", `$1::text::json`, `convert_to(corpo::text, 'UTF8')`},
		{"text", `$1::text`, `convert_to(corpo, 'UTF8')`},
		{"bytea", `$1::bytea`, `corpo`},
	} {
		_, err := conn.Exec(ctx, fmt.Sprintf(`/* column */ DROP TABLE IF EXISTS pg_temp.guardada; CREATE TEMPORARY TABLE guardada (corpo %s)`, kind.name))
		if err != nil {
			return nil, fmt.Errorf("make a column of type %s: %w", kind.name, err)
		}
		column := results.StoredColumn{Type: kind.name}
		for _, a := range answersToStore() {
			var body any = a.body
			if kind.name == "bytea" {
				body = []byte(a.body)
			}
			var back []byte
			// Not prepared: the table is another one each time.
			err := conn.QueryRow(ctx, fmt.Sprintf(`/* store */ INSERT INTO pg_temp.guardada VALUES (%s) RETURNING %s`, kind.put, kind.get),
				pgx.QueryExecModeExec, body).Scan(&back)
			stored := results.StoredAnswer{What: a.what, SameBytes: err == nil && bytes.Equal(back, []byte(a.body))}
			var pg *pgconn.PgError
			switch {
			case errors.As(err, &pg):
				stored.SQLState = pg.Code
			case err != nil:
				return nil, fmt.Errorf("store an answer as %s: %w", kind.name, err)
			case !stored.SameBytes:
				stored.CameBack = string(back)
			}
			column.Cases = append(column.Cases, stored)
		}
		columns = append(columns, column)
	}
	return columns, nil
}
