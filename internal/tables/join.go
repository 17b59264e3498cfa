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
	const other = "%w: those of schema %s have %s, which %s: they were made for another strategy, so name that one, or leave --tables out"
	for _, name := range s.Without {
		k, unique, err := lookFor(ctx, conn, name)
		if err != nil {
			return "", err
		}
		if unique {
			return "", fmt.Errorf(other, ErrOtherTables, schema.Name(), k.inWords(), s.Name+" does without")
		}
	}
	for _, name := range s.Needs {
		k, unique, err := lookFor(ctx, conn, name)
		if err != nil {
			return "", err
		}
		if !unique {
			return "", fmt.Errorf(other, ErrOtherTables, schema.Name(), "no "+k.inWords(), s.Name+" needs")
		}
	}
	if len(s.Without)+len(s.Needs) > 0 || s.Scenario().Unique == "" {
		return "", nil
	}
	k, unique, err := lookFor(ctx, conn, s.Scenario().Unique)
	if err != nil || unique {
		return "", err
	}
	// Not to be told from tables that --schema made so on purpose, to see what then becomes of the strategy.
	return "the tables have no " + k.inWords() + ", without which " + s.Name + " guarantees nothing", nil
}
