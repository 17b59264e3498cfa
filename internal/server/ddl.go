package server

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DDLError says that the statements which make the tables of a run failed.
type DDLError struct {
	Line int   // 1-based line of the statements' text; 0 when the server named no place
	Err  error // what the server said; a *pgconn.PgError in most cases
}

// Error names the line, what is wrong there, and what the server adds.
func (e *DDLError) Error() string {
	where := ""
	if e.Line > 0 {
		where = fmt.Sprintf(" at line %d", e.Line)
	}
	var pg *pgconn.PgError
	hint := ""
	if errors.As(e.Err, &pg) && pg.Hint != "" {
		hint = "\n  " + pg.Hint
	}
	return fmt.Sprintf("creating the tables failed%s: %v%s", where, e.Err, hint)
}

// Unwrap gives the server's error to errors.Is and errors.As.
func (e *DDLError) Unwrap() error { return e.Err }

// runDDL runs the statements as an attempt of the run would: over Config.
func (h *Schema) runDDL(ctx context.Context, ddl string) error {
	if strings.TrimSpace(ddl) == "" {
		return nil
	}
	conn, err := pgx.ConnectConfig(ctx, h.Config())
	if err != nil {
		return fmt.Errorf("connecting to create the tables of schema %s: %w", h.name, err)
	}
	defer CloseConn(ctx, conn)
	// Several statements in one string go over the simple protocol only.
	if _, err := conn.PgConn().Exec(ctx, ddl).ReadAll(); err != nil {
		return &DDLError{Line: errorLine(ddl, err), Err: err}
	}
	return nil
}

// errorLine turns the position that the server reports, in characters from 1, into a line.
func errorLine(ddl string, err error) int {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Position <= 0 {
		return 0
	}
	chars := []rune(ddl)
	before := chars[:min(int(pg.Position)-1, len(chars))]
	return strings.Count(string(before), "\n") + 1
}
