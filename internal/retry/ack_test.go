package retry

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/server/servertest"
)

// The acknowledgement that is lost is that of a statement that was done, prepared or not, and never one of an error.
func TestTheAcknowledgementAloneIsLost(t *testing.T) {
	schema := servertest.Schema(t, `CREATE TABLE t (n int PRIMARY KEY)`)
	cfg := schema.Config()
	cfg.AfterNetConnect = wrap
	count := func() (n int) {
		t.Helper()
		conn, err := pgx.ConnectConfig(t.Context(), schema.Config())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM t`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for i, warm := range []bool{false, true} {
		conn, err := pgx.ConnectConfig(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		insert := func(n int) error {
			_, err := conn.Exec(t.Context(), `INSERT INTO t VALUES ($1)`, n)
			return err
		}
		if warm {
			if err := insert(100); err != nil {
				t.Fatal(err)
			}
		}
		before := count()
		conn.PgConn().Conn().(*ackConn).arm()
		var pg *pgconn.PgError
		if err := insert(i); err == nil || errors.As(err, &pg) {
			t.Errorf("warm %v: %v", warm, err)
		}
		if !conn.IsClosed() || count() != before+1 {
			t.Errorf("warm %v: closed %v, %d rows, there were %d", warm, conn.IsClosed(), count(), before)
		}
	}
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	conn.PgConn().Conn().(*ackConn).arm()
	var pg *pgconn.PgError
	if _, err := conn.Exec(t.Context(), `INSERT INTO t VALUES ($1)`, 0); !errors.As(err, &pg) || pg.Code != "23505" {
		t.Errorf("a refused statement: %v", err)
	}
	if err := conn.Ping(t.Context()); err != nil {
		t.Errorf("after it: %v", err)
	}
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO t VALUES (7)`); err != nil {
		t.Fatal(err)
	}
	before := count()
	conn.PgConn().Conn().(*ackConn).arm()
	if err := tx.Commit(t.Context()); err == nil || count() != before+1 {
		t.Errorf("commit: %v, %d rows, there were %d", err, count(), before)
	}
}
