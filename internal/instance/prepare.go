package instance

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/scenarios"
)

// Prepare makes, on a connection of the engine's own, what a strategy wants to be there before an intent's first attempt.
func Prepare(ctx context.Context, conn *pgx.Conn, s scenarios.Strategy, req scenarios.Request) error {
	if s.Prepare == nil {
		return nil
	}
	err := s.Prepare(ctx, pinned{conn, &recorder{}}, req)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "42703") { // undefined_table, undefined_column
		return fmt.Errorf("prepare an intent for %s: %w; it needs what schema.sql creates beside cobranca: "+
			"add that to your schema, or leave --schema out", s.Name, err)
	}
	if err != nil {
		return fmt.Errorf("prepare an intent for %s: %w", s.Name, err)
	}
	return nil
}
