package meter

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/server/servertest"
)

const table = `CREATE TABLE one (id int PRIMARY KEY); CREATE TABLE two (id int)`

func connect(t *testing.T, cfg *pgx.ConnConfig) *pgx.Conn {
	t.Helper()
	conn, err := Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// What is counted rises with a write, and stands still where only is read.
func TestCountersRiseWithWhatIsWritten(t *testing.T) {
	conn := connect(t, servertest.Schema(t, table).Config())
	read := func() (wal, xids int64) {
		wal, err := WAL(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		if xids, err = XIDs(t.Context(), conn); err != nil {
			t.Fatal(err)
		}
		return wal, xids
	}
	_, x0 := read()
	if _, err := conn.Exec(t.Context(), `SELECT count(*) FROM one`); err != nil {
		t.Fatal(err)
	}
	w1, x1 := read()
	if x1 != x0 {
		t.Errorf("reading took %d transaction ids", x1-x0)
	}
	if _, err := conn.Exec(t.Context(), `INSERT INTO one VALUES (1)`); err != nil {
		t.Fatal(err)
	}
	if w2, x2 := read(); w2 <= w1 || x2 != x1+1 {
		t.Errorf("an INSERT: %d bytes of WAL, %d transaction ids", w2-w1, x2-x1)
	}
}

// A statement whose context ends is ended on the server too, before anybody else goes on.
func TestStatementsAreCancelled(t *testing.T) {
	schema := servertest.Schema(t, table)
	conn, watch := connect(t, schema.Config()), connect(t, schema.Config())
	pid := conn.PgConn().PID()
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := conn.Exec(ctx, `SELECT pg_sleep(600)`)
		answered <- err
	}()
	sleeps := func() (yes bool) {
		err := watch.QueryRow(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'`, pid).Scan(&yes)
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	for !sleeps() {
	}
	cancel()
	err := <-answered
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "57014" {
		t.Errorf("%v", err)
	}
	if sleeps() {
		t.Error("the statement goes on without anybody to hear of it")
	}
}

func TestCheckpointIsLeftOutWhereTheRoleMayNot(t *testing.T) {
	conn := connect(t, servertest.Schema(t, table).Config())
	if made, err := Checkpoint(t.Context(), conn); err != nil || !made {
		t.Errorf("a superuser: %v, %v", made, err)
	}
	for _, sql := range []string{`CREATE ROLE meter_nobody`, `SET ROLE meter_nobody`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if made, err := Checkpoint(t.Context(), conn); err != nil || made {
		t.Errorf("a role without the right: %v, %v", made, err)
	}
	for _, sql := range []string{`RESET ROLE`, `DROP ROLE meter_nobody`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
}

func TestNoAutovacuumOnAnyTable(t *testing.T) {
	conn := connect(t, servertest.Schema(t, table).Config())
	if err := NoAutovacuum(t.Context(), conn); err != nil {
		t.Fatal(err)
	}
	var off int
	err := conn.QueryRow(t.Context(), `
		SELECT count(*) FROM pg_class
		 WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' AND 'autovacuum_enabled=off' = ANY (reloptions)`).Scan(&off)
	if err != nil || off != 2 {
		t.Errorf("off on %d of 2 tables, %v", off, err)
	}
}
