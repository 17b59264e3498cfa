package explore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// splitCommit makes the COMMIT of a SERIALIZABLE transaction two steps: decided (from now on others fail because of it) and
// visible (from now on others see it). PostgreSQL takes these steps one after the other, and a retry can fail again in between.
//
// How: with a standby named that does not exist, a COMMIT under synchronous_commit=on waits for it between the two, and
// pg_cancel_backend makes it go on, with a warning and committed all the same (PostgreSQL docs, 27.2.8.3; syncrep.c). Every
// other session of the server commits under "local", which waits for no standby. The setting is the whole server's, which is
// why it takes a cluster that nobody else uses.
type splitCommit struct {
	once sync.Once
	on   atomic.Bool
	err  error
	conn *pgx.Conn

	config *pgx.ConnConfig // to connect anew with, where conn went with an interrupted statement
}

// trials is how often to look whether the server has taken the setting up; it does so within a reload's time.
const trials = 200

// splitsCommits says whether COMMITs of this transaction are to be split, and prepares the server at the first that is.
func (e *engine) splitsCommits(ctx context.Context, t *txn) (bool, error) {
	if t == nil || !t.serializable() || !t.wrote {
		return false, nil
	}
	if !e.stops || e.o.NoSplit {
		e.wholeCommits.Store(true)
		return false, nil
	}
	s := &e.split
	s.once.Do(func() { s.err = e.nameNobody(ctx) })
	return s.on.Load(), s.err
}

// holdCommit makes the COMMIT to come wait. It waits only where something was logged, and whether a transaction that changed no
// row has logged something is chance: a sequence does, at every thirty-second value. So something is logged.
func holdCommit(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, `SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'idemlab', '')`)
	return err
}

func (e *engine) nameNobody(ctx context.Context) (err error) {
	s := &e.split
	s.config = e.config
	if s.conn, err = pgx.ConnectConfig(ctx, e.config); err != nil {
		return fmt.Errorf("explore: split commits: %w", err)
	}
	s.on.Store(true) // from here on there is something to undo
	if _, err = s.conn.Exec(ctx, `SET synchronous_commit = local`); err != nil {
		return fmt.Errorf("explore: split commits: %w", err)
	}
	if err = setStandby(ctx, s.conn, `ALTER SYSTEM SET synchronous_standby_names = 'nobody'`); err != nil {
		return err
	}
	for range trials {
		if held, err := e.holds(ctx); held || err != nil {
			return err
		}
		time.Sleep(soon) // the checkpointer takes the setting up in its own time, and says so nowhere
	}
	return errors.New("explore: split commits: the server does not take up synchronous_standby_names")
}

func setStandby(ctx context.Context, conn *pgx.Conn, sql string) error {
	for _, q := range []string{sql, `SELECT pg_reload_conf()`} {
		if _, err := conn.Exec(ctx, q); err != nil {
			return fmt.Errorf("explore: split commits: %s: %w", q, err)
		}
	}
	return nil
}

// holds commits something and says whether the COMMIT was held.
func (e *engine) holds(ctx context.Context) (bool, error) {
	conn, err := pgx.ConnectConfig(ctx, e.config)
	if err != nil {
		return false, fmt.Errorf("explore: split commits: %w", err)
	}
	trial, end := context.WithCancel(ctx)
	done, ended := make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		_, err := conn.Exec(trial, `SET synchronous_commit = on; SELECT pg_logical_emit_message(true, 'idemlab', 'trial')`)
		done <- err
	}()
	defer func() { // also where looking fails: a connection is not to be closed while it is in use
		end()
		<-ended
		_ = conn.Close(context.WithoutCancel(ctx)) // an interrupted one is closed already
	}()
	for {
		select {
		case err := <-done:
			return false, err
		case <-time.After(soon):
		}
		held, err := heldBySyncRep(ctx, e.split.conn, conn.PgConn().PID())
		if err != nil {
			return false, err
		}
		if held {
			if err := letGo(ctx, e.split.conn, conn.PgConn().PID()); err != nil {
				return false, err
			}
			return true, <-done
		}
	}
}

func heldBySyncRep(ctx context.Context, conn *pgx.Conn, pid uint32) (held bool, err error) {
	err = conn.QueryRow(ctx, `SELECT coalesce((SELECT wait_event = 'SyncRep' FROM pg_stat_get_activity($1)), false)`, int32(pid)).Scan(&held)
	return held, err
}

func letGo(ctx context.Context, conn *pgx.Conn, pid uint32) error {
	_, err := conn.Exec(ctx, `SELECT pg_cancel_backend($1)`, int32(pid))
	return err
}

// undo gives the server its setting back. Whoever still waits is let go by that, too.
func (s *splitCommit) undo(ctx context.Context) error {
	if s.conn == nil {
		return nil
	}
	var err error
	if s.on.Load() && s.conn.IsClosed() {
		if s.conn, err = pgx.ConnectConfig(ctx, s.config); err != nil {
			return fmt.Errorf("explore: give synchronous_standby_names back: %w; do it by hand: ALTER SYSTEM RESET synchronous_standby_names", err)
		}
	}
	if s.on.Load() {
		err = setStandby(ctx, s.conn, `ALTER SYSTEM RESET synchronous_standby_names`)
	}
	return errors.Join(err, s.conn.Close(ctx))
}

// decided looks for sessions whose COMMIT is held, and makes them stand there: their next step is to become visible.
func (w *world) decided(ctx context.Context) error {
	for _, s := range w.sessions {
		if s.state != running || !s.attempt.committing.Load() {
			continue
		}
		held, err := heldBySyncRep(ctx, w.e.control, s.pid)
		if err != nil {
			return fmt.Errorf("explore: look for a held COMMIT: %w", err)
		}
		if !held {
			continue
		}
		s.state = parked
		s.at = op{name: "visible", verb: "COMMIT (visible)", half: true, settled: true}
		foot := *s.attempt.doing.Load()
		w.turn().touch(foot)
		w.turn().halfWay(s)
	}
	return nil
}

// halfWay notes that s has decided its COMMIT.
func (t *Turn) halfWay(s *session) { t.made(s, &done{op{name: "commit"}, "decided", nil}) }

// appear lets a held COMMIT become visible.
func (w *world) appear(ctx context.Context, s *session) error {
	s.state = running
	s.attempt.committing.Store(false)
	return letGo(ctx, w.e.control, s.pid)
}
