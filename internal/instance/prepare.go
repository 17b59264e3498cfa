package instance

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/scenarios"
)

// Prepare makes, on a connection of the engine's own, what a scenario and its strategy want to be there before an intent's
// first attempt, by so many clients.
func Prepare(ctx context.Context, conn *pgx.Conn, c scenarios.Scenario, s scenarios.Strategy, of scenarios.Request, clients int) error {
	db := pinned{conn, &recorder{}}
	var err error
	if c.Prepare != nil {
		err = c.Prepare(ctx, db, of, clients)
	}
	if err == nil && s.Prepare != nil {
		err = s.Prepare(ctx, db, of)
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && (pg.Code == "42P01" || pg.Code == "42703") { // undefined_table, undefined_column
		return fmt.Errorf("prepare an intent for %s: %w; it needs what schema.sql creates beside %s: "+
			"add that to your schema, or leave --schema out", s.Name, err, c.Tables[0])
	}
	if err != nil {
		return fmt.Errorf("prepare an intent for %s: %w", s.Name, err)
	}
	return nil
}
