package spec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server/servertest"
	"idemlab/results"
)

// run runs a text in a schema of its own. The limit is an hour: a test that waits for it fails by the test's own limit.
func run(t *testing.T, text string, o Options) (Result, error) {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	o.Limit = time.Hour
	return Run(t.Context(), servertest.Schema(t, "").Config(), s, o)
}

func mustRun(t *testing.T, text string, o Options) Result {
	t.Helper()
	r, err := run(t, text, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestVerdicts(t *testing.T) {
	for name, want := range map[string]struct {
		verdict           results.Verdict
		complete, dropped int
		violating         int
		first             string
	}{
		"for-update":                 {results.Held, 4, 0, 0, ""},
		"for-update-missing-row":     {results.Violated, 20, 0, 12, "permutation look1 add1 look2 add2 end1 end2"},
		"write-skew":                 {results.Held, 20, 0, 0, ""},
		"write-skew-repeatable-read": {results.Violated, 6, 0, 4, "permutation offa offb enda endb"},
		"impossible":                 {results.Held, 1, 2, 0, ""},
		"on-conflict":                {"", 4, 0, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("testdata/" + name + ".spec")
			if err != nil {
				t.Fatal(err)
			}
			r := mustRun(t, string(text), Options{})
			if r.Verdict != want.verdict || r.Count(Complete) != want.complete || r.Count(Dropped) != want.dropped || r.Violating() != want.violating {
				t.Errorf("%s (%s): %d complete, %d dropped, %d violating", r.Verdict, r.Reason, r.Count(Complete), r.Count(Dropped), r.Violating())
			}
			if len(r.Orders) != want.complete+want.dropped {
				t.Errorf("%d orders", len(r.Orders))
			}
			if (r.Verdict == "" || want.dropped > 0) && r.Reason == "" {
				t.Error("no reason given")
			}
			switch v := r.First(); {
			case v == nil && want.first != "":
				t.Error("no violation")
			case v != nil && (v.Permutation.String() != want.first || !strings.Contains(v.Rows, "(1 row)")):
				t.Errorf("first violation: %s\n%s", v.Permutation, v.Rows)
			}
		})
	}
}

// The line that a violation gives can be pasted into the spec, and violates again.
func TestViolationLineReproduces(t *testing.T) {
	text, err := os.ReadFile("testdata/for-update-missing-row.spec")
	if err != nil {
		t.Fatal(err)
	}
	first := mustRun(t, string(text), Options{}).First()
	if first == nil {
		t.Fatal("no violation")
	}
	again := mustRun(t, string(text)+"\n"+first.Permutation.String()+"\n", Options{})
	if again.Verdict != results.Violated || len(again.Orders) != 1 || again.First().Rows != first.Rows {
		t.Errorf("%+v", again)
	}
}

// Eight steps of two sessions have 70 orders. Those that can happen are counted by hand: a session holds the lock from its first step
// to its last, and meanwhile the other one may begin to wait for it once, at any of these places.
func TestOnlyOrdersThatCanHappenAreBegun(t *testing.T) {
	const text = `
session a
step a1 { SELECT pg_advisory_lock(4001); } step a2 { SELECT 1; } step a3 { SELECT 1; } step a4 { SELECT pg_advisory_unlock(4001); }
session b
step b1 { SELECT pg_advisory_lock(4001); } step b2 { SELECT 1; } step b3 { SELECT 1; } step b4 { SELECT pg_advisory_unlock(4001); }`
	r := mustRun(t, text, Options{})
	// b1 comes behind a1, a2, a3 or a4; and the same with the names exchanged.
	if r.Count(Complete) != 8 || len(r.Orders) != 8 {
		t.Errorf("%d orders begun, %d complete, want 8", len(r.Orders), r.Count(Complete))
	}
	seen := map[string]bool{}
	for _, o := range r.Orders {
		if seen[o.Permutation.String()] {
			t.Error("twice:", o.Permutation)
		}
		seen[o.Permutation.String()] = true
	}
}

// All sessions wait: the order is left, its locks are released, and the others run.
func TestOrdersThatEndInWaitingAreLeft(t *testing.T) {
	r := mustRun(t, `
session a step a1 { SELECT pg_advisory_lock(4002); } step a2 { SELECT pg_advisory_unlock(4002); }
session b step b1 { SELECT pg_advisory_lock(4002); } step b2 { SELECT 2; }
permutation a1 b1 b2 a2
permutation b1 a1 a2
permutation a1 a2 b1 b2`, Options{})
	if r.Count(Dropped) != 2 || r.Count(Complete) != 1 {
		t.Errorf("%+v", r.Orders)
	}
	want := "step b1 of session b waits for session a, which can only be freed by a later step"
	if r.Orders[0].Why != want {
		t.Error(r.Orders[0].Why)
	}
	if r.Orders[2].Outcome != Complete {
		t.Error("a lock that an abandoned order took outlived it")
	}
}

// A deadlock is not impossible: the server ends it.
func TestDeadlockCanHappen(t *testing.T) {
	r := mustRun(t, `
setup { CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0), (2, 0); }
teardown { DROP TABLE t; }
session a setup { SET deadlock_timeout = '20ms'; BEGIN; }
step a1 { UPDATE t SET v = 1 WHERE id = 1; } step a2 { UPDATE t SET v = 1 WHERE id = 2; } step a3 { COMMIT; }
session b setup { SET deadlock_timeout = '100s'; BEGIN; }
step b1 { UPDATE t SET v = 1 WHERE id = 2; } step b2 { UPDATE t SET v = 1 WHERE id = 1; } step b3 { COMMIT; }
permutation a1 b1 b2 a2 a3 b3
permutation a1 b1 a2 b2 b3 a3`, Options{})
	if r.Count(Complete) != 2 {
		t.Errorf("%+v", r.Orders)
	}
}

func TestInvariantThatFailsIsAnError(t *testing.T) {
	for invariant, want := range map[string]string{
		"SELECT nothing FROM nowhere": `relation "nowhere" does not exist`,
		"SET work_mem = '1MB'":        "write a SELECT",
	} {
		r, err := run(t, "# invariant: "+invariant+"\nsession s step a { SELECT 1; }", Options{})
		if err == nil || !strings.Contains(err.Error(), want) || r.Verdict != results.Inconclusive {
			t.Errorf("%s: %v, %s", invariant, err, r.Verdict)
		}
	}
}

// What hangs isolationtester for good is an error here.
func TestWhatCannotEndIsAnError(t *testing.T) {
	const locked = "setup { CREATE TABLE t (); } teardown { DROP TABLE t; }\nsession s step hold { BEGIN; LOCK TABLE t; } session o step o { SELECT 1; }\n"
	for name, c := range map[string]struct{ text, want string }{
		"teardown":      {locked, "teardown: it waits for a lock that an idle session holds"},
		"setup fails":   {"setup { SELECT 1/0; } session s step a { SELECT 1; }", "setup failed: ERROR:  division by zero"},
		"setup is void": {"setup { -- nothing\n } session s step a { SELECT 1; }", "setup holds no statement"},
		"session setup": {"session s setup { nonsense } step a { SELECT 1; }", "setup of session s failed: ERROR:  syntax error"},
		"mid-step": {"session s step a { SELECT pg_advisory_lock(4003); } session o step o { SELECT 1; DO $$ BEGIN RAISE NOTICE 'n'; END $$; " +
			"SELECT pg_advisory_lock(4003); } permutation a o", "give that statement a step of its own"},
		"markers": {"session s step a { SELECT 1; } step b { SELECT 1; } session o step o { SELECT 2; }\npermutation a(o notices 1) b o",
			"step a(o notices 1) is held back by its markers for good"},
		"no notice": {"session s step a { SELECT 1; } session o step o { SELECT 2; }\npermutation a(o notices 1) o",
			"mutually-blocking steps: a(o notices 1)"},
		"copy": {"session s step a { COPY (SELECT 1) TO STDOUT; }", "COPY from or to the client"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			_, err := run(t, c.text, Options{Output: &out})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			if !strings.Contains(out.String(), "starting permutation") {
				t.Error("what was printed until then is lost")
			}
		})
	}
}

// Ctrl-C while a step is blocked: Run returns, and leaves no backend behind.
func TestCancelledRunLeavesNothingBehind(t *testing.T) {
	schema := servertest.Schema(t, "")
	s, err := Parse("session s step a { SELECT pg_advisory_lock(4004); } session o setup { SET lock_timeout = '1h'; } step o { SELECT pg_advisory_lock(4004); }")
	if err != nil {
		t.Fatal(err)
	}
	watch, err := pgx.ConnectConfig(t.Context(), schema.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close(context.Background())
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := Run(ctx, schema.Config(), s, Options{Name: "left"})
		done <- err
	}()
	count := func(where string) (n int) {
		if err := watch.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'isolation/left/%' `+where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for count("AND wait_event_type = 'Lock'") == 0 {
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for count("") > 0 { // backends end a moment after their connections
	}
}

// A time limit that really passes leaves the question open.
func TestSlowStepIsInconclusive(t *testing.T) {
	s, err := Parse("# invariant: SELECT 1 WHERE false\nsession s step a { SELECT pg_sleep(60); }")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(t.Context(), servertest.Schema(t, "").Config(), s, Options{Limit: 50 * time.Millisecond})
	if err != nil || r.Verdict != results.Inconclusive || r.Count(CutOff) != 1 {
		t.Errorf("%v, %s, %+v", err, r.Verdict, r.Orders)
	}
}

// b gives up waiting by itself, so it can go on while a holds the lock. a cannot: it has no limit.
func TestTimeLimitMakesOrdersPossible(t *testing.T) {
	r := mustRun(t, `session a step a1 { SELECT pg_advisory_lock(4005); } step a2 { SELECT pg_advisory_unlock(4005); }
session b setup { SET lock_timeout = '30ms'; } step b1 { SELECT pg_advisory_lock(4005); } step b2 { SELECT pg_advisory_unlock_all(); }`, Options{})
	var got []string
	for _, o := range r.Orders {
		got = append(got, fmt.Sprint(o.Permutation, o.Outcome == Complete))
	}
	want := []string{
		"permutation a1 a2 b1 b2 true", "permutation a1 b1 a2 b2 true", "permutation a1 b1 b2 a2 true",
		"permutation b1 a1 b2 a2 true", "permutation b1 b2 a1 a2 true",
	}
	if !slices.Equal(got, want) {
		t.Error(strings.Join(got, "\n"))
	}
}

func TestEachIsToldOfEveryOrder(t *testing.T) {
	n := 0
	r := mustRun(t, "session s step a { SELECT 1; } session o step o { SELECT 1; }", Options{Each: func(Order) { n++ }})
	if n != 2 || len(r.Orders) != 2 {
		t.Error(n, len(r.Orders))
	}
}
