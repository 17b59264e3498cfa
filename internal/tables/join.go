package tables

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/scenarios"
)

// ErrOtherTables says that tables that are there were made for another strategy. Nothing was changed.
var ErrOtherTables = errors.New("tables of another strategy")

// Join holds tables that another process of the tool has made, and looks whether they are those of the strategy. Nothing in them is
// changed: rows may be in them, and others may be at work. note is what a reader of the results should know; mostly nothing.
func Join(ctx context.Context, srv *server.Server, name string, s scenarios.Strategy) (_ *server.Schema, note string, err error) {
	schema, err := srv.Join(ctx, name)
	if err != nil {
		return nil, "", err
	}
	note, err = fit(ctx, schema, s)
	if err != nil {
		return nil, "", errors.Join(err, schema.Leave(ctx))
	}
	return schema, note, nil
}

// fit compares the tables with what Create would have made of them for the strategy.
func fit(ctx context.Context, schema *server.Schema, s scenarios.Strategy) (note string, err error) {
	conn, err := pgx.ConnectConfig(ctx, schema.Config())
	if err != nil {
		return "", fmt.Errorf("look at the tables: %w", err)
	}
	defer server.CloseConn(ctx, conn)
	if err := tablesAreThere(ctx, conn, s.Scenario().Tables); err != nil {
		return "", err
	}
	if s.Scenario().Unique == "" {
		return "", nil
	}
	unique, err := keyNamed(s.Scenario().Unique).isUnique(ctx, conn)
	if err != nil {
		return "", fmt.Errorf("look for constraint %s: %w", s.Scenario().Unique, err)
	}
	const other = "%w: those of schema %s have %s, which %s: they were made for another strategy, so name that one, or leave --tables out"
	switch {
	case unique && len(s.Without) > 0:
		return "", fmt.Errorf(other, ErrOtherTables, schema.Name(), "UNIQUE (idempotency_key)", s.Name+" does without")
	case !unique && len(s.Needs) > 0:
		return "", fmt.Errorf(other, ErrOtherTables, schema.Name(), "no UNIQUE (idempotency_key)", s.Name+" needs")
	case !unique && len(s.Without) == 0:
		// Not to be told from tables that --schema made so on purpose, to see what then becomes of the strategy.
		return "the tables have no UNIQUE (idempotency_key), without which " + s.Name + " guarantees nothing", nil
	}
	return "", nil
}
