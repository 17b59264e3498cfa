package server

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Schema is a PostgreSQL schema of one run's own. Its methods may be called from several goroutines.
type Schema struct {
	server *Server
	name   string
	key    int64

	mu     sync.Mutex
	lock   *pgx.Conn // holds the advisory lock for as long as the run lives; nil once released
	shared bool      // the lock is held together with others, see Share
	turn   bool      // see TakeTurn
	kept   bool
	done   bool
}

// NewSchema creates a schema idemlab_<16 hex digits> and runs ddl in it, with search_path set to it alone.
//
// ddl may hold several statements; it runs on a connection of its own, which is then closed, so that nothing it
// sets for its session reaches the run or the lock. When it fails the error is a *DDLError and the schema is gone.
func (s *Server) NewSchema(ctx context.Context, ddl string) (*Schema, error) {
	h := &Schema{server: s}
	h.name, h.key = newName()
	if err := h.create(ctx); err != nil {
		return nil, fmt.Errorf("creating schema %s: %w", h.name, err)
	}
	s.mu.Lock()
	s.schemas[h] = true
	s.mu.Unlock()
	err := ctx.Err() // create does not look
	if err == nil {
		err = h.runDDL(ctx, ddl)
	}
	if err != nil {
		return nil, errors.Join(err, h.Drop(ctx))
	}
	return h, nil
}

// newName makes a name and the key of its lock, which is the number in the name: whoever finds the schema can tell
// which lock holds it.
func newName() (string, int64) {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	n := binary.BigEndian.Uint64(b[:])
	return fmt.Sprintf("idemlab_%016x", n), int64(n)
}

// create takes the lock and then makes the schema visible together with its tag: at no moment can another run's
// sweep see a tagged schema whose lock is free. A session lock outlives the transaction it was taken in.
func (h *Schema) create(ctx context.Context) (err error) {
	conn, err := h.holder(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			CloseConn(ctx, conn)
		}
	}()
	var got bool
	if err := conn.QueryRow(ctx, `/* hold */ SELECT pg_try_advisory_lock($1)`, h.key).Scan(&got); err != nil {
		return err
	}
	if !got {
		return errors.New("its advisory lock is taken by somebody else: run again")
	}
	// Two statements in one simple-protocol message are one transaction. It is not to be cancelled: with a Ctrl-C in this
	// millisecond nobody would know whether the schema exists, and so nobody would drop it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	_, err = conn.Exec(ctx, fmt.Sprintf(`CREATE SCHEMA %[1]s; COMMENT ON SCHEMA %[1]s IS '%[2]s'`, h.name, tagOwned),
		pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return err
	}
	h.lock = conn
	return nil
}

// holder connects for a lock that is to be held for the whole run.
func (h *Schema) holder(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, h.server.Config())
	if err != nil {
		return nil, err
	}
	// The connection idles for the whole run; a limit on that would free the lock (PostgreSQL 14 has the setting).
	if h.server.info.VersionNum >= 140000 {
		if _, err := conn.Exec(ctx, `SET idle_session_timeout = 0`); err != nil {
			CloseConn(ctx, conn)
			return nil, err
		}
	}
	return conn, nil
}

// Name is the schema's name; it needs no quotes in SQL.
func (h *Schema) Name() string { return h.name }

// Config gives a new copy, at each call, of how to connect with this schema as the search path.
func (h *Schema) Config() *pgx.ConnConfig {
	cfg := h.server.Config()
	setOurs(cfg, h.name)
	return cfg
}

// Keep exempts the schema from Drop and from every later run's sweep. Should the server not take the new tag now,
// Drop tries again and reports it.
func (h *Schema) Keep() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.done {
		return
	}
	h.kept = true
	ctx, cancel := context.WithTimeout(context.Background(), cleanupLimit)
	defer cancel()
	_ = h.exec(ctx, h.keepSQL()) // Drop runs it again
}

// Drop drops the schema with everything in it (a kept one it leaves alone) and releases its lock. It works under
// a context that has ended, within 15 seconds; a second call does nothing. When it fails, the lock is released all the
// same, so that the next run's sweep can drop what this one could not. Whoever else holds a shared schema is not asked.
func (h *Schema) Drop(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.drop(ctx)
}

func (h *Schema) drop(ctx context.Context) error {
	if h.done {
		return nil
	}
	h.done = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	defer h.release(ctx)
	if h.kept {
		return h.retag(ctx)
	}
	// The wait for a session that still works in the schema ends before the whole limit, with a better message.
	err := h.exec(ctx, fmt.Sprintf(`SET lock_timeout = '5s'; DROP SCHEMA IF EXISTS %s CASCADE`, h.name))
	if err != nil {
		return fmt.Errorf("dropping schema %s: %w\n  the next run drops it; by hand: DROP SCHEMA %s CASCADE", h.name, err, h.name)
	}
	return nil
}

// retag makes sure that a schema which is to be kept says so.
func (h *Schema) retag(ctx context.Context) error {
	if err := h.exec(ctx, h.keepSQL()); err != nil {
		return fmt.Errorf("keeping schema %s: a later run would drop it: %w", h.name, err)
	}
	return nil
}

func (h *Schema) keepSQL() string {
	return fmt.Sprintf(`COMMENT ON SCHEMA %s IS '%s'`, h.name, tagKept)
}

// exec runs sql on the connection that holds the lock, or, when that one has died, on a new one: a lock that an
// administrator or a network took away must not leave the schema behind.
func (h *Schema) exec(ctx context.Context, sql string) error {
	return h.useConn(ctx, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		return err
	})
}

// useConn calls f with the connection that holds the lock, and once more, with a new one, where that one has died.
func (h *Schema) useConn(ctx context.Context, f func(*pgx.Conn) error) error {
	if h.lock != nil && !h.lock.IsClosed() {
		if err := f(h.lock); err == nil || !h.lock.IsClosed() {
			return err
		}
	}
	conn, err := pgx.ConnectConfig(ctx, h.server.Config())
	if err != nil {
		return err
	}
	defer CloseConn(ctx, conn)
	return f(conn)
}

// abandon lets go of a schema whose server is about to be removed.
func (h *Schema) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.done = true
	h.release(context.Background())
}

// release frees the lock and closes the connection. The close alone would free it too, but only once the server has
// noticed; whoever looks right after Drop must not find it held.
func (h *Schema) release(ctx context.Context) {
	if h.lock != nil {
		if !h.lock.IsClosed() {
			_, _ = h.lock.Exec(ctx, `SELECT pg_advisory_unlock_all()`) // the close makes up for it
		}
		CloseConn(ctx, h.lock)
		h.lock = nil
	}
	if h.turn {
		h.turn = false
		<-h.server.turn
	}
	h.server.mu.Lock()
	delete(h.server.schemas, h)
	h.server.mu.Unlock()
}
