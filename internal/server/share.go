package server

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A schema may be used by several processes: by a service and by another instance of it, or by the one that takes the place of
// one that was killed. Each of them holds the schema's lock, shared. A sweep wants it alone, and so drops the schema only when
// the last of them is gone, however they went.

// Share lets other processes hold the schema too (Join), from now on. Until then it is its maker's alone.
func (h *Schema) Share(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done || h.lock == nil {
		return fmt.Errorf("sharing schema %s: it is not held any more", h.name)
	}
	if h.shared {
		return nil
	}
	// A session may hold both, so that between the two there is no moment at which a sweep finds the lock free.
	_, err := h.lock.Exec(ctx, fmt.Sprintf(`/* share */ SELECT pg_advisory_lock_shared(%[1]d); SELECT pg_advisory_unlock(%[1]d)`, h.key),
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return fmt.Errorf("sharing schema %s: %w", h.name, err)
	}
	h.shared = true
	return nil
}

// Join holds a schema that another process made and shares, kept, or left behind when it was killed. To keep Open from dropping one
// of the last kind, name it in Options.Spare. The schema is not checked for what is in it.
func (s *Server) Join(ctx context.Context, name string) (_ *Schema, err error) {
	if err := CheckSchemaName(name); err != nil {
		return nil, err
	}
	h := &Schema{server: s, name: name, shared: true}
	if h.key, err = keyOf(name); err != nil {
		return nil, err
	}
	conn, err := h.holder(ctx)
	if err != nil {
		return nil, fmt.Errorf("joining schema %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			CloseConn(ctx, conn)
		}
	}()
	var got bool
	if err := conn.QueryRow(ctx, `/* join */ SELECT pg_try_advisory_lock_shared($1)`, h.key).Scan(&got); err != nil {
		return nil, fmt.Errorf("joining schema %s: %w", name, err)
	}
	// Read under the lock: whoever had it may just have dropped the schema.
	var tag string
	err = conn.QueryRow(ctx, `/* whose */ SELECT coalesce(obj_description(oid, 'pg_namespace'), '') FROM pg_namespace
		WHERE nspname = $1 AND pg_has_role(nspowner, 'USAGE')`, name).Scan(&tag)
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && tag != tagOwned && tag != tagKept:
		return nil, h.notOurs(ctx, conn)
	case err != nil:
		return nil, fmt.Errorf("joining schema %s: %w", name, err)
	case !got:
		return nil, fmt.Errorf("schema %s is held by a run that has it to itself (a race, an exploration): wait for its end, or name another schema", name)
	}
	h.lock = conn
	s.mu.Lock()
	s.schemas[h] = true
	s.mu.Unlock()
	return h, nil
}

// CheckSchemaName says whether a name can be that of a schema of ours.
func CheckSchemaName(name string) error {
	if !regexp.MustCompile(`^idemlab_[0-9a-f]{16}$`).MatchString(name) {
		return usagef("%q is no schema of the lab's: their names are idemlab_ and 16 hexadecimal digits", name)
	}
	return nil
}

// notOurs names the schemas that could have been meant.
func (h *Schema) notOurs(ctx context.Context, conn *pgx.Conn) error {
	err := fmt.Errorf("there is no schema %s of the lab's in database %s", h.name, database(h.server.config))
	rows, _ := conn.Query(ctx, `/* ours */
		SELECT nspname FROM pg_namespace
		WHERE nspname ~ '^idemlab_[0-9a-f]{16}$' AND obj_description(oid, 'pg_namespace') IN ($1, $2)
		ORDER BY nspname`, tagOwned, tagKept)
	names, listErr := pgx.CollectRows(rows, pgx.RowTo[string])
	if listErr != nil || len(names) == 0 {
		return fmt.Errorf("%w, nor any other: what is neither kept nor held goes with the next run", err)
	}
	return fmt.Errorf("%w; there are: %s", err, strings.Join(names, ", "))
}

// Leave ends this process's use of a schema that it shares: the last one out drops it, unless it is kept. One that is not shared
// is dropped. To be kept is a matter of the tag, whoever of them has set it. It works under a context that has ended, within 15 seconds; after it or Drop, a call does nothing.
func (h *Schema) Leave(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return nil
	}
	if !h.shared {
		return h.drop(ctx)
	}
	h.done = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	defer h.release(ctx)
	if h.kept {
		return h.retag(ctx)
	}
	// First let go, then look whether anybody else holds it: two that leave at once would otherwise each find the other there.
	return h.useConn(ctx, func(conn *pgx.Conn) error {
		if conn == h.lock {
			if _, err := conn.Exec(ctx, `/* leave */ SELECT pg_advisory_unlock_shared($1)`, h.key); err != nil {
				return fmt.Errorf("leaving schema %s: %w", h.name, err)
			}
		}
		if _, err := sweepSchema(ctx, conn, h.name); err != nil {
			return fmt.Errorf("dropping schema %s: %w\n  the next run drops it; by hand: DROP SCHEMA %s CASCADE", h.name, err, h.name)
		}
		return nil
	})
}
