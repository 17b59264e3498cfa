package lockwait

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
)

const ddl = `CREATE TABLE t (k text UNIQUE)`

func connect(t *testing.T, schema *server.Schema, app string) *pgx.Conn {
	t.Helper()
	cfg := schema.Config()
	cfg.RuntimeParams["application_name"] = app
	c, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(t.Context()) })
	return c
}

// Two INSERTs of one key, the first uncommitted: the second waits at Lock/transactionid, for the first, until it ends.
func TestSamplerSeesWhoWaitsForWhom(t *testing.T) {
	schema := servertest.Schema(t, ddl)
	owner, waiter, watch := connect(t, schema, "seen"), connect(t, schema, "seen"), connect(t, schema, "watch")
	unseen := connect(t, schema, "somebody else")

	s, err := Start(t.Context(), schema.Config(), "seen")
	if err != nil {
		t.Fatal(err)
	}
	tx, err := owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO t VALUES ('k')`); err != nil {
		t.Fatal(err)
	}
	insert := func(c *pgx.Conn, done chan<- Statement) {
		st := Statement{Who: "waiter", Step: "claim", PID: c.PgConn().PID(), Start: time.Now()}
		if _, err := c.Exec(t.Context(), `INSERT INTO t VALUES ('k') ON CONFLICT DO NOTHING`); err != nil {
			t.Error(err)
		}
		st.End = time.Now()
		done <- st
	}
	done, other := make(chan Statement, 1), make(chan Statement, 1)
	go insert(waiter, done)
	go insert(unseen, other)
	for waiting := false; !waiting; {
		if waiting, err = AnyWaiting(t.Context(), watch, "seen"); err != nil {
			t.Fatal(err)
		}
	}
	// A few looks at the same wait. This is time on purpose: what is measured is a length of time.
	time.Sleep(10 * Interval)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	statement := <-done
	<-other
	samples, err := s.Stop()
	if err != nil {
		t.Fatal(err)
	}

	hold := Hold{Who: "owner", PID: owner.PgConn().PID(), From: statement.Start.Add(-time.Second), To: statement.End.Add(time.Second)}
	blocked := Join(samples.Waits, []Statement{statement}, []Hold{hold})
	if len(blocked) != 1 {
		t.Fatalf("%d blocked statements of %+v", len(blocked), samples.Waits)
	}
	b := blocked[0]
	if b.Event != "Lock/transactionid" || b.For != "owner" || b.Step != "claim" {
		t.Errorf("%+v", b)
	}
	if b.Server < 10*Interval*9/10 || b.Server > b.Client {
		t.Errorf("the server says %v, the client %v; the wait was of %v at least", b.Server, b.Client, 10*Interval)
	}
	if e := samples.Events["Lock/transactionid"]; e.MaxWaiters != 1 || e.Samples == 0 {
		t.Errorf("events %+v: the other application's waiter must not count", samples.Events)
	}
	if samples.Polls == 0 || samples.Cost == 0 || samples.Worst == 0 {
		t.Errorf("the cost of looking is missing: %+v", samples)
	}
}

func TestJoinLaysWaitsOverStatements(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	wait := func(pid uint32, from, to int, by ...uint32) Wait {
		return Wait{PID: pid, Event: "Lock/tuple", Blockers: by, Seen: at(from), LastSeen: at(to), Length: at(to).Sub(at(from))}
	}
	statements := []Statement{
		{"a", "claim", 1, at(0), at(100)},
		{"a", "read", 1, at(101), at(200)},
		{"b", "claim", 2, at(0), at(10)},
	}
	holds := []Hold{{"c", 9, at(0), at(100)}, {"d", 9, at(100), at(300)}}
	got := Join([]Wait{
		wait(1, 10, 40, 9), wait(1, 40, 60, 9), // two stretches of one statement: the row, then its writer
		wait(1, 98, 150, 9),  // seen from the end of one statement into the next: it belongs to the longer part
		wait(2, 50, 60, 9),   // between statements: nobody's
		wait(3, 10, 20, 9),   // not one of ours
		wait(2, 0, 500, 123), // longer than the statement itself: cut to it
	}, statements, holds)
	want := []Blocked{
		{"a", "read", "Lock/tuple", "c", 52 * time.Millisecond, 99 * time.Millisecond},
		{"a", "claim", "Lock/tuple", "c", 50 * time.Millisecond, 100 * time.Millisecond},
		{"b", "claim", "Lock/tuple", "pid 123", 10 * time.Millisecond, 10 * time.Millisecond},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %+v, want %+v", i, got[i], want[i])
		}
	}
}
