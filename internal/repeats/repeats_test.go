package repeats

import (
	"context"
	"math"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

func options(t *testing.T, s scenarios.Strategy) Options {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	return Options{Strategy: s, Repeats: 320, Isolation: pgx.ReadCommitted, Seed: 1, DDL: string(ddl)}
}

func run(t *testing.T, o Options) results.Run {
	t.Helper()
	r, err := Run(t.Context(), servertest.Server(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if schemas(t) != 0 {
		t.Error("schemas are left")
	}
	return r
}

func schemas(t *testing.T) (n int) {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), servertest.Server(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	defer server.CloseConn(t.Context(), conn)
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab%'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What a repeat costs, in kind: nothing, less than one in each repeat, or one and more. The bytes differ from version to version.
func TestWhatARepeatCosts(t *testing.T) {
	type kind int
	const (
		none kind = iota
		some      // less than a tenth of a repeat's
		each
		twice
	)
	of := func(v float64) kind {
		switch {
		case v == 0:
			return none
		case v < 0.1:
			return some
		case v < 1.9:
			return each
		}
		return twice
	}
	for name, want := range map[string]struct {
		xids, versions, numbers kind
		dead, heap              bool // left behind at the end
		leastWAL, mostWAL       float64
	}{
		// Refused, without a trace: but each number of the identity is gone, and every 32nd is logged in a transaction with an id.
		"insert-first":      {xids: some, numbers: each, leastWAL: 1, mostWAL: 10},
		"cte-get-or-create": {xids: some, numbers: each, leastWAL: 1, mostWAL: 10},
		// The row is written before the index refuses it.
		"insert-first-catch": {xids: each, versions: each, numbers: each, dead: true, heap: true, leastWAL: 150, mostWAL: 600},
		// And a savepoint is a transaction of its own.
		"catch-in-savepoint": {xids: twice, versions: each, numbers: each, dead: true, heap: true, leastWAL: 150, mostWAL: 700},
		// A new version each time; the dead ones are pruned from the page, so the table does not grow.
		"do-update-noop": {xids: each, versions: each, numbers: each, leastWAL: 100, mostWAL: 500},
		// Locking a row is a write, too.
		"for-update-order": {xids: each, leastWAL: 50, mostWAL: 300},
		// Who only looks writes nothing.
		"check-then-act": {mostWAL: 1},
		"merge":          {mostWAL: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := scenarios.Named(name)
			if s.Lacking(servertest.Quiet(t).Info().VersionNum) != "" {
				return // this server does not know its SQL
			}
			o := options(t, s)
			r := run(t, o)
			if r.Status != results.Complete || r.Verdict != results.Held || r.ExitCode != 0 || r.Repeats.Replayed != o.Repeats || r.Repeats.Counted != o.Repeats {
				t.Fatalf("%s, %s (%s), %+v", r.Status, r.Verdict, r.Reason, r.Repeats)
			}
			p := *r.Repeats.PerRepeat
			if of(p.XIDs) != want.xids || of(*p.RowVersions) != want.versions || of(p.SequenceNumbers) != want.numbers {
				t.Errorf("xids %v, versions %v, sequence numbers %v", p.XIDs, *p.RowVersions, p.SequenceNumbers)
			}
			if want.xids == some && math.Abs(p.XIDs-1.0/32) > 0.005 {
				t.Errorf("%v xids: the report says that every 32nd number of the identity takes one", p.XIDs)
			}
			if (*p.DeadRows > 0.5) != want.dead || (p.HeapBytes > 50) != want.heap || p.WALBytes < want.leastWAL || p.WALBytes > want.mostWAL {
				t.Errorf("dead %v, heap %v, WAL %v", *p.DeadRows, p.HeapBytes, p.WALBytes)
			}
			if a := r.Repeats.Around; !a.Checkpointed || a.IdleXIDs != 0 {
				t.Errorf("%+v", a)
			}
			if c := r.Repeats.Client; c.N != o.Repeats || *c.P50MS <= 0 {
				t.Errorf("client %+v", c)
			}
			if cpu := p.ServerCPUMS; (cpu == nil) != (runtime.GOOS != "linux") || cpu != nil && (*cpu <= 0 || *cpu > *r.Repeats.Client.MaxMS) {
				t.Errorf("server CPU %v ms a repeat, of at most %v at the client", cpu, *r.Repeats.Client.MaxMS)
			}
		})
	}
}

// Every strategy of the scenario that answers a repeat at all does so here, at every isolation level; the ones that do not are found out.
func TestVerdictBothWays(t *testing.T) {
	broken := map[string]string{
		"catch-in-tx":         "error_to_duplicate", // 25P02 to every repeat
		"new-key-per-retry":   "double_charge",
		"store-nothing":       "double_charge", // it forgets each charge as soon as it is answered
		"unique-effect-first": "double_charge", // each repeat is told the stored answer, and the acquirer is told again
	}
	for _, s := range scenarios.ChargeOnce.Strategies() {
		if s.Lacking(servertest.Server(t).Info().VersionNum) != "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
				o := options(t, s)
				o.Repeats, o.Isolation = 5, level
				r := run(t, o)
				want, exit := results.Held, 0
				if broken[s.Name] != "" {
					want, exit = results.Violated, 1
				}
				if r.Verdict != want || r.ExitCode != exit || !strings.Contains(r.Reason, broken[s.Name]) {
					t.Errorf("%s: %s (%s), exit %d, answers %v", level, r.Verdict, r.Reason, r.ExitCode, r.Answers)
				}
				if (len(r.Anomalies) > 0) != (want == results.Violated) {
					t.Errorf("%s: %+v", level, r.Anomalies)
				}
			}
		})
	}
}

// A repeat that is not told what was stored is caught, however cheap it is to answer it otherwise.
func TestAnAnswerThatWasNotStoredIsCaught(t *testing.T) {
	for name, change := range map[string]func(*scenarios.Response){
		"another body":    func(r *scenarios.Response) { r.Body = `{"status": "CAPTURADA"}` },
		"told to wait":    func(r *scenarios.Response) { r.Answer, r.HTTP = scenarios.InProgress, 409 },
		"told to go away": func(r *scenarios.Response) { r.Answer, r.HTTP = scenarios.Mismatched, 422 },
	} {
		o := options(t, changed(scenarios.InsertFirst, scenarios.Replayed, change))
		o.Repeats = 5
		if r := run(t, o); r.Verdict != results.Violated || !strings.Contains(r.Reason, "divergent_answers") {
			t.Errorf("%s: %s (%s)", name, r.Verdict, r.Reason)
		}
	}
}

// changed is a strategy that answers so otherwise.
func changed(s scenarios.Strategy, answer scenarios.Answer, change func(*scenarios.Response)) scenarios.Strategy {
	inner := s.New
	s.New = func(env scenarios.Env) scenarios.Handler {
		handle := inner(env)
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			resp, err := handle(ctx, db, acq, req)
			if resp.Answer == answer {
				change(&resp)
			}
			return resp, err
		}
	}
	return s
}

// A key that was never finished has no repeats to measure.
func TestAKeyThatIsNotFinishedIsDoubt(t *testing.T) {
	s := changed(scenarios.InsertFirst, scenarios.Charged, func(r *scenarios.Response) { r.Answer = scenarios.InProgress })
	o := options(t, s)
	o.Repeats = 5
	if r := run(t, o); r.Verdict != results.Inconclusive || r.ExitCode != 4 || !strings.Contains(r.Reason, "did not finish the key") {
		t.Errorf("%s (%s), exit %d", r.Verdict, r.Reason, r.ExitCode)
	}
}

// Ctrl-C between two repeats: no figures, no error, nothing left.
func TestInterrupted(t *testing.T) {
	o := options(t, scenarios.InsertFirst)
	o.Repeats, o.Done = 1_000_000, &atomic.Int64{}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for o.Done.Load() == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // between two looks: the event is the first repeat's answer
		}
		cancel()
	}()
	r, err := Run(ctx, servertest.Server(t), o)
	if err != nil || r.Status != results.Aborted || r.Verdict != results.Inconclusive || r.Repeats.PerRepeat != nil || r.Repeats.Counted != 0 {
		t.Errorf("%s, %s, %+v, %v", r.Status, r.Verdict, r.Repeats, err)
	}
	if schemas(t) != 0 {
		t.Error("schemas are left")
	}
}

// Processor time is read of a backend of ours, and of nothing that has its number by chance.
func TestProcessorTimeIsTheBackends(t *testing.T) {
	if runtime.GOOS != "linux" {
		return // nobody tells
	}
	srv := servertest.Server(t)
	conn, err := pgx.ConnectConfig(t.Context(), srv.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer server.CloseConn(t.Context(), conn)
	pid := conn.PgConn().PID()
	before := processorTime(pid, conn.Config())
	if before == nil {
		t.Fatal("no processor time of a backend on this machine")
	}
	if _, err := conn.Exec(t.Context(), `SELECT count(*) FROM generate_series(1, 200000)`); err != nil {
		t.Fatal(err)
	}
	if after := processorTime(pid, conn.Config()); *after <= *before {
		t.Errorf("%v before a statement, %v after", *before, *after)
	}
	if d := processorTime(uint32(os.Getpid()), conn.Config()); d != nil {
		t.Errorf("%v of a process that is no backend", *d)
	}
	elsewhere := conn.Config()
	elsewhere.Host = "db.example.org"
	if d := processorTime(pid, elsewhere); d != nil {
		t.Errorf("%v of a backend on another machine", *d)
	}
	for text, want := range map[string]bool{"12345 678 9\n": true, "": false, "x y z": false} {
		if d := onProcessor(text); (d != nil) != want || d != nil && *d != 12345 {
			t.Errorf("%q: %v", text, d)
		}
	}
}
