// Package meter reads what PostgreSQL counts of the work that is done on it, for whoever measures: read, work, read again.
//
// WAL and transaction ids are counted for the whole server. Who wants them for one piece of work needs a server on which nobody
// else is at work, or has to say so.
package meter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// cancelLimit is how long the server may take to cancel a statement before the connection is given up.
const cancelLimit = 5 * time.Second

// Connect opens a connection whose statements the server is told to cancel when their context ends. Left to itself pgx only hangs
// up, and a statement that has nothing to send, such as a VACUUM, would go on with its locks.
func Connect(ctx context.Context, cfg *pgx.ConnConfig) (*pgx.Conn, error) {
	cfg = cfg.Copy()
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: cancelLimit}
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to measure: %w", err)
	}
	return conn, nil
}

// WAL is how many bytes of WAL the server has ever written. By its insert position: the write position lags behind where
// synchronous_commit is off.
func WAL(ctx context.Context, conn *pgx.Conn) (bytes int64, err error) {
	err = conn.QueryRow(ctx, `/* wal */ SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint`).Scan(&bytes)
	if err != nil {
		return 0, fmt.Errorf("read the WAL position: %w", err)
	}
	return bytes, nil
}

// XIDs is how many transaction ids the server has ever given out.
func XIDs(ctx context.Context, conn *pgx.Conn) (n int64, err error) {
	err = conn.QueryRow(ctx, `/* xids */ SELECT txid_snapshot_xmax(txid_current_snapshot())`).Scan(&n)
	if err != nil {
		return 0, fmt.Errorf("read the next transaction id: %w", err)
	}
	return n, nil
}

// Checkpoint makes one where the role may, which takes a superuser or, from PostgreSQL 15 on, pg_checkpoint. After it the first
// change of each page writes the whole page to the WAL; and none comes soon that would make pages whole again in the middle of
// what is measured.
func Checkpoint(ctx context.Context, conn *pgx.Conn) (made bool, err error) {
	_, err = conn.Exec(ctx, `CHECKPOINT`)
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == "42501" { // insufficient_privilege
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("checkpoint: %w", err)
	}
	return true, nil
}

// NoAutovacuum keeps autovacuum away from the tables of the connection's schema: it would come or not, as it pleases, in the middle of
// what is measured.
func NoAutovacuum(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `
		SELECT format('ALTER TABLE %s SET (autovacuum_enabled = off)', oid::regclass)
		  FROM pg_class
		 WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`)
	if err != nil {
		return fmt.Errorf("look for the tables: %w", err)
	}
	statements, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for the tables: %w", err)
	}
	for _, sql := range statements {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	return nil
}
