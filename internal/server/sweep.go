package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// The comment on a schema is its tag. Name and tag together make a schema ours; either alone may be anybody's.
const (
	tagOwned = "idemlab: the schema of one run, dropped by a later run once its lock is free"
	tagKept  = "idemlab: the schema of one run, kept on request; DROP SCHEMA … CASCADE when done"
)

// sweepSchemas drops the schemas of runs that died before they could, and returns how many it dropped. A schema that
// cannot be dropped now is said and left to the next run: leftovers are no reason to refuse work. One may be spared.
func sweepSchemas(ctx context.Context, conn *pgx.Conn, spare string, say func(string, ...any)) (int, error) {
	// Only what this role may drop: with several roles in one database, each cleans up after itself.
	rows, err := conn.Query(ctx, `/* leftovers */
		SELECT nspname FROM pg_namespace
		WHERE nspname ~ '^idemlab_[0-9a-f]{16}$' AND obj_description(oid, 'pg_namespace') = $1
		  AND pg_has_role(nspowner, 'USAGE') AND nspname <> $2`, tagOwned, spare)
	if err != nil {
		return 0, err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return 0, err
	}
	dropped := 0
	for _, name := range names {
		ok, err := sweepSchema(ctx, conn, name)
		if conn.IsClosed() || ctx.Err() != nil {
			return dropped, errors.Join(err, ctx.Err())
		}
		if err != nil {
			say("server: could not drop leftover schema %s, the next run will try again: %v", name, err)
		}
		if ok {
			dropped++
		}
	}
	return dropped, nil
}

// sweepSchema drops one schema if no run holds its lock. The lock is taken for the transaction, so that of two
// sweeps only one works on a schema; and the tag is read again under it, because the other may have finished (or
// the owner may have tagged the schema as kept) since the list was made.
func sweepSchema(ctx context.Context, conn *pgx.Conn, name string) (dropped bool, err error) {
	key, err := keyOf(name)
	if err != nil {
		return false, err
	}
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		var free bool
		if err := tx.QueryRow(ctx, `SELECT pg_try_advisory_xact_lock($1)`, key).Scan(&free); err != nil || !free {
			return err
		}
		var ours bool
		err := tx.QueryRow(ctx, `SELECT count(*) = 1 FROM pg_namespace
			WHERE nspname = $1 AND obj_description(oid, 'pg_namespace') = $2`, name, tagOwned).Scan(&ours)
		if err != nil || !ours {
			return err
		}
		// A person may look into the schema just now: wait a little for them, not for ever.
		_, err = tx.Exec(ctx, fmt.Sprintf(`SET LOCAL lock_timeout = '1s'; DROP SCHEMA %s CASCADE`, name),
			pgx.QueryExecModeSimpleProtocol)
		dropped = err == nil
		return err
	})
	return dropped && err == nil, err
}

// keyOf reads the key of a schema's lock from its name.
func keyOf(name string) (int64, error) {
	n, err := strconv.ParseUint(strings.TrimPrefix(name, "idemlab_"), 16, 64)
	if err != nil {
		return 0, fmt.Errorf("schema %s has no lock in its name: %w", name, err)
	}
	return int64(n), nil
}
