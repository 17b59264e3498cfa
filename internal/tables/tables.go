// Package tables makes the tables that a strategy works on, in a schema of their own, and reads them back.
package tables

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/scenarios"
)

// ErrMissingConstraint says that the schema lacks a constraint without which the strategy's own SQL is refused. Nothing was run.
var ErrMissingConstraint = errors.New("missing constraint")

// Create makes a new schema, runs the DDL in it, drops the constraints that the strategy does without and looks for those that
// it needs (ErrMissingConstraint). On an error nothing is left behind.
//
// Where the strategy or the DDL takes advisory locks, Create waits until no other run in the database does, and keeps those that come
// waiting until the schema is dropped. Who has such a schema must drop it before the next Create of the kind, or wait for himself.
func Create(ctx context.Context, srv *server.Server, ddl string, s scenarios.Strategy) (*server.Schema, error) {
	schema, err := CreateOutOfTurn(ctx, srv, ddl, s)
	if err != nil || !s.TakesAdvisoryLocks() && !scenarios.MentionsAdvisoryLocks(ddl) {
		return schema, err
	}
	if err := schema.TakeTurn(ctx); err != nil {
		return nil, errors.Join(err, schema.Drop(context.WithoutCancel(ctx)))
	}
	return schema, nil
}

// CreateOutOfTurn is Create for whoever waits for nobody and keeps nobody waiting: a service that is there until it is stopped, of
// which no verdict is given, and whose keys are its clients' own.
func CreateOutOfTurn(ctx context.Context, srv *server.Server, ddl string, s scenarios.Strategy) (*server.Schema, error) {
	schema, err := srv.NewSchema(ctx, ddl)
	if err != nil {
		return nil, err
	}
	if err := prepare(ctx, schema.Config(), s); err != nil {
		return nil, errors.Join(err, schema.Drop(context.WithoutCancel(ctx)))
	}
	return schema, nil
}

func prepare(ctx context.Context, cfg *pgx.ConnConfig, s scenarios.Strategy) error {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("prepare tables: %w", err)
	}
	defer server.CloseConn(ctx, conn)

	if err := tablesAreThere(ctx, conn, s.Scenario().Tables); err != nil {
		return err
	}
	for _, name := range s.Without {
		if err := keyNamed(name).doWithout(ctx, conn); err != nil {
			return fmt.Errorf("drop constraint %s for %s: %w", name, s.Name, err)
		}
	}
	for _, name := range s.Needs {
		k, unique, err := lookFor(ctx, conn, name)
		if err != nil {
			return err
		}
		if !unique {
			return fmt.Errorf("%w: %s needs %s, %s, and the schema has none; "+
				"without it PostgreSQL refuses its ON CONFLICT (SQLSTATE 42P10). Add\n"+
				"  CONSTRAINT %s %s\nto the table, or leave --schema out", ErrMissingConstraint, s.Name, name, k.inWords(), name, k.unique())
		}
	}
	return nil
}

func tablesAreThere(ctx context.Context, conn *pgx.Conn, names []string) error {
	for _, name := range names {
		var there bool
		if err := conn.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, name).Scan(&there); err != nil {
			return fmt.Errorf("look for the table: %w", err)
		}
		if !there {
			return fmt.Errorf("the schema makes no table %s: it must, with the columns of schema.sql (idemlab explain shows each strategy's SQL)", name)
		}
	}
	return nil
}

// Rows reads what attempts left in a scenario's tables, oldest first: the rows above an id, of orders from one on.
func Rows(ctx context.Context, conn *pgx.Conn, s scenarios.Scenario, above, from int64) (found []scenarios.Row, err error) {
	err = EachRow(ctx, conn, s, above, from, func(r scenarios.Row) { found = append(found, r) })
	return found, err
}

// EachRow is Rows one by one, for tables that need not fit in memory.
func EachRow(ctx context.Context, conn *pgx.Conn, s scenarios.Scenario, above, from int64, each func(scenarios.Row)) error {
	rows, err := conn.Query(ctx, s.Rows, above, from)
	if err != nil {
		return fmt.Errorf("read %s: %w", s.Tables[0], err)
	}
	for rows.Next() {
		r, err := pgx.RowToStructByPos[scenarios.Row](rows)
		if err != nil {
			rows.Close()
			return fmt.Errorf("read %s: %w", s.Tables[0], err)
		}
		each(r)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read %s: %w", s.Tables[0], err)
	}
	return nil
}
