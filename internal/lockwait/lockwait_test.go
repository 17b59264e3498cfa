package lockwait

import (
	"testing"
	"testing/synctest"
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
	if _, err := tx.Exec(t.Context(), `/* first */ INSERT INTO t VALUES ('k')`); err != nil {
		t.Fatal(err)
	}
	insert := func(c *pgx.Conn, done chan<- Statement) {
		st := Statement{Who: "waiter", Step: "claim", PID: c.PgConn().PID(), Start: time.Now()}
		if _, err := c.Exec(t.Context(), `/* claim */ INSERT INTO t VALUES ('k') ON CONFLICT DO NOTHING`); err != nil {
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
	time.Sleep(10 * Interval) // a few looks at the same wait: what is measured is a length of time
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
	missed := 3 * (Interval + samples.Worst) // between the looks around the beginning and the end, on a machine as busy as this one
	if b.Server < b.Client-missed || b.Server > b.Client {
		t.Errorf("the server says %v, the client %v, and looking misses %v at most", b.Server, b.Client, missed)
	}
	if e := samples.Events["Lock/transactionid"]; e.MaxWaiters != 1 || e.Samples == 0 {
		t.Errorf("events %+v: the other application's waiter must not count", samples.Events)
	}
	w := samples.Waits[0]
	if w.Step != "claim" || w.BlockerStep != "first" || w.BlockerState != "idle in transaction" {
		t.Errorf("the wait says %q behind %q, %s", w.Step, w.BlockerStep, w.BlockerState)
	}
	if samples.IdleInTx <= 0 || samples.IdleInTx < b.Client-missed {
		t.Errorf("idle in transaction for %v; the owner was while the other waited, for %v", samples.IdleInTx, b.Client)
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

// One backend serves one attempt after another, and a wait may outlast the change: who had it when the wait was seen first is
// who was in the way.
func TestHolderIsWhoHadTheBackendWhenTheWaitBegan(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(0, 0).Add(time.Duration(ms) * time.Millisecond) }
	first, second := Hold{"first", 9, at(0), at(100)}, Hold{"second", 9, at(100), at(200)}
	other := Hold{"other", 8, at(0), at(500)}
	for name, c := range map[string]struct {
		seen, last int
		blockers   []uint32
		want       string
	}{
		"before the hand-over":               {10, 50, []uint32{9}, "first"},
		"across the hand-over":               {90, 150, []uint32{9}, "first"},
		"at the hand-over":                   {100, 150, []uint32{9}, "second"},
		"after it":                           {120, 150, []uint32{9}, "second"},
		"seen just before anybody had it":    {-5, 10, []uint32{9}, "first"},
		"seen just as the last one let go":   {200, 210, []uint32{9}, "second"},
		"when nobody had it any more":        {201, 210, []uint32{9}, "pid 9"},
		"before anybody had it":              {-20, -10, []uint32{9}, "pid 9"},
		"two in the way, of different pids":  {90, 150, []uint32{8, 9}, "other, first"},
		"somebody who is none of the holds'": {90, 150, []uint32{7}, "pid 7"},
	} {
		w := Wait{PID: 1, Blockers: c.blockers, Seen: at(c.seen), LastSeen: at(c.last)}
		for _, holds := range [][]Hold{{other, first, second}, {second, first, other}} { // as the attempts happen to be numbered
			if got := holders(w, holds); got != c.want {
				t.Errorf("%s: %q, want %q (holds %v)", name, got, c.want, holds)
			}
		}
	}
}

// looker is a sampler that looks only when told.
func looker(t *testing.T, schema *server.Schema, app string) *Sampler {
	t.Helper()
	s := &Sampler{conn: connect(t, schema, "looker"), app: app, open: map[uint32]*openWait{}}
	s.samples.Events = map[string]EventCount{}
	if err := s.conn.QueryRow(t.Context(), `SELECT current_setting('server_version_num')::int >= 140000`).Scan(&s.hasAt); err != nil {
		t.Fatal(err)
	}
	return s
}

// A wait that ended was last seen at one look and gone at the next: half of the gap between them belongs to it.
func TestLengthOfAWaitIncludesHalfTheLastGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) // the server's clock, which is another
		s := &Sampler{open: map[uint32]*openWait{}}
		s.open[1] = &openWait{Wait: Wait{PID: 1, LastSeen: time.Now()}, began: began, seenAt: began.Add(100 * time.Millisecond)}
		time.Sleep(20 * time.Millisecond) // of the bubble's clock: until the next look
		s.endAll()
		if len(s.samples.Waits) != 1 || s.samples.Waits[0].Length != 110*time.Millisecond || len(s.open) != 0 {
			t.Errorf("%+v, want one wait of 100 ms and half of 20", s.samples.Waits)
		}
	})
}

// The same backend may wait again, and again at the same event, between two looks: pg_locks.waitstart tells the waits apart.
func TestWaitsOfOneBackendAreToldApart(t *testing.T) {
	schema := servertest.Schema(t, ddl)
	at := func(hour int) time.Time { return time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC) } // so long that the test's own time is nothing
	since := func(hour int) *time.Time { at := at(hour); return &at }
	const pid = 1 << 30 // no backend of this server's: who blocks it is nobody
	look := func(event string, began *time.Time, now int) blocked { return blocked{pid, event, "", began, at(now)} }
	for name, c := range map[string]struct {
		looks []blocked
		hours []int // the length of each wait
	}{
		"one wait, seen three times": {[]blocked{
			look("Lock/tuple", since(1), 5), look("Lock/tuple", since(1), 10), look("Lock/tuple", since(1), 15)}, []int{14}},
		"another, begun after the last look": {[]blocked{
			look("Lock/tuple", since(1), 5), look("Lock/tuple", since(8), 10), look("Lock/tuple", since(8), 15)}, []int{4, 7}},
		"another event":                     {[]blocked{look("Lock/tuple", since(1), 5), look("Lock/transactionid", since(3), 10)}, []int{4, 7}},
		"its start is known a moment later": {[]blocked{look("Lock/tuple", nil, 5), look("Lock/tuple", since(2), 10)}, []int{8}},
		"its start is never known":          {[]blocked{look("Lock/tuple", nil, 5), look("Lock/tuple", nil, 15)}, []int{10}},
	} {
		t.Run(name, func(t *testing.T) {
			s := looker(t, schema, "nobody")
			for _, b := range c.looks {
				if err := s.saw(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			s.endAll()
			if len(s.samples.Waits) != len(c.hours) {
				t.Fatalf("%d waits, want %d: %+v", len(s.samples.Waits), len(c.hours), s.samples.Waits)
			}
			for i, w := range s.samples.Waits {
				if got := w.Length.Round(time.Hour); got != time.Duration(c.hours[i])*time.Hour {
					t.Errorf("wait %d was of %v, want %d h", i, got, c.hours[i])
				}
			}
			if last := s.samples.Waits[len(c.hours)-1]; last.Event != c.looks[len(c.looks)-1].Event {
				t.Errorf("the last wait was at %s", last.Event)
			}
		})
	}
}

// Only waits for a key, a row or a lock taken on purpose count. A table that grows is none (Lock/extend), nor is one that is
// locked (Lock/relation): those stand among the events, and in no length.
func TestOnlyWaitsForTheKeyCount(t *testing.T) {
	want := map[string]bool{"Lock/transactionid": true, "Lock/tuple": true, "Lock/advisory": true, "Lock/spectoken": true}
	for _, e := range Counted() {
		if !want[e] {
			t.Errorf("%s counts", e)
		}
		delete(want, e)
	}
	if len(want) > 0 {
		t.Errorf("%v do not count", want)
	}

	schema := servertest.Schema(t, ddl+`; CREATE TABLE grown ()`)
	owner, keyed, grown := connect(t, schema, "owner"), connect(t, schema, "app"), connect(t, schema, "app")
	s := looker(t, schema, "app")
	tx, err := owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `INSERT INTO t VALUES ('k'); LOCK TABLE grown`); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	run := func(c *pgx.Conn, sql string) {
		go func() {
			_, err := c.Exec(t.Context(), sql)
			ended <- err
		}()
	}
	// Looks follow one another until they show what they wait for; the test's own limit ends one that never does.
	lookUntil := func(event string) {
		for s.samples.Events[event].Samples == 0 {
			if err := s.poll(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	run(grown, `INSERT INTO grown DEFAULT VALUES`)
	lookUntil("Lock/relation")
	if waiting, err := AnyWaiting(t.Context(), owner, "app"); err != nil || waiting {
		t.Errorf("who waits for a table waits for a key (%v)", err)
	}
	run(keyed, `INSERT INTO t VALUES ('k') ON CONFLICT DO NOTHING`)
	lookUntil("Lock/transactionid")
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	s.endAll()
	for _, w := range s.samples.Waits {
		if w.PID != keyed.PgConn().PID() || w.Event != "Lock/transactionid" {
			t.Errorf("%+v counts", w)
		}
	}
	if len(s.samples.Waits) != 1 {
		t.Errorf("%d waits, want 1", len(s.samples.Waits))
	}
}
