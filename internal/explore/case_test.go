package explore_test

import (
	"context"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/explore"
	"idemlab/internal/schedule"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// charge is a case of the scenario charge, on tables of its own.
func charge(t *testing.T, o explore.Options) explore.Case {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	o.Isolation = pgx.ReadCommitted
	return explore.Case{Scenario: scenarios.ChargeOnce, Options: o, DDL: string(ddl) + orders, Expect: check.ExpectClaim}
}

// Crashes that were allowed excuse nothing that needs none: a strategy that says it never charges twice in a race, and shows
// it with a crash, is judged by the order, not by what else might have befallen it.
func TestAnOrderIsJudgedByItsOwnFaults(t *testing.T) {
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	s := scenarios.CheckThenAct
	s.Never = []scenarios.Claim{{Under: scenarios.Race, Anomaly: scenarios.DoubleCharge}}
	s.Shows = []scenarios.Claim{{Under: scenarios.Crash, Anomaly: scenarios.DoubleCharge}}
	for sessions, want := range map[int]int{1: 0, 2: 1} { // one client alone needs the crash, two do not
		o := explore.Defaults(s)
		o.Sessions, o.Crashes, o.Isolation = sessions, 1, pgx.ReadCommitted
		r, err := explore.Case{Scenario: scenarios.ChargeOnce, Options: o, DDL: string(ddl), Expect: check.ExpectClaim}.Run(t.Context(), servertest.Server(t))
		if err != nil || r.Verdict != results.Violated || r.ExitCode != want {
			t.Errorf("%d sessions: %s, exit %d, want %d (%s; %v)", sessions, r.Verdict, r.ExitCode, want, r.Reason, err)
		}
	}
}

// A search that is blind finds what its probes met, and says that it cannot be believed otherwise.
func TestAViolationThatTheSearchMissedIsToldWithThat(t *testing.T) {
	blind := func(schedule.Footprint, schedule.Footprint) bool { return false }
	r, err := charge(t, explore.Defaults(scenarios.CheckThenAct).Under(blind)).Run(t.Context(), servertest.Server(t))
	if err != nil || r.Verdict != results.Violated || !strings.Contains(r.Reason, "missed an outcome") || !strings.Contains(r.Reason, "--search full") {
		t.Errorf("%s (%s), %v", r.Verdict, r.Reason, err)
	}
}

// A budget that ends before there is anything to judge is said to be too small, and blames neither the server nor the control.
func TestABudgetTooSmallSaysSo(t *testing.T) {
	for budget, want := range map[time.Duration]string{
		time.Nanosecond: "the time was up before the control check-then-act had been seen to go wrong: give more than --budget 1ns",
		time.Hour:       "",
	} {
		o := explore.Defaults(scenarios.InsertFirst)
		o.Budget = budget
		r, err := charge(t, o).Run(t.Context(), servertest.Server(t))
		if err != nil || r.Reason != want || (r.Verdict == results.Held) != (want == "") {
			t.Errorf("--budget %v: %s (%s), %v", budget, r.Verdict, r.Reason, err)
		}
	}
	o := explore.Defaults(scenarios.CheckThenAct) // it claims nothing that would need a control
	o.Budget = time.Nanosecond
	r, err := charge(t, o).Run(t.Context(), servertest.Server(t))
	if err != nil || r.Verdict != results.Inconclusive || !strings.Contains(r.Reason, "preparing took it: give more than --budget 1ns") {
		t.Errorf("%s (%s), %v", r.Verdict, r.Reason, err)
	}
}

// fickle is check-then-act, until it has charged somebody twice: from then on it makes one statement more, where it is to change.
func fickle(changes bool) scenarios.Strategy {
	s, inner := scenarios.CheckThenAct, scenarios.CheckThenAct.New
	var changed atomic.Bool
	s.New = func(env scenarios.Env) scenarios.Handler {
		handle := inner(env)
		var charged atomic.Int64 // by this instance, which one schedule has
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if changes && changed.Load() {
				if _, err := db.Exec(ctx, `/* extra */ SELECT 1`); err != nil {
					return scenarios.Response{}, err
				}
			}
			r, err := handle(ctx, db, acq, req)
			if r.Answer == scenarios.Charged && charged.Add(1) == 2 {
				changed.Store(true)
			}
			return r, err
		}
	}
	return s
}

// A violation that was seen and whose order cannot be had again is no run that failed, and shows nothing; one that comes again is drawn.
func TestAViolationThatDoesNotComeAgainIsInconclusive(t *testing.T) {
	for changes, want := range map[bool]results.Verdict{true: results.Inconclusive, false: results.Violated} {
		o := explore.Defaults(fickle(changes))
		o.Enough = []scenarios.Anomaly{scenarios.DoubleCharge}
		r, err := charge(t, o).Run(t.Context(), servertest.Server(t))
		if err != nil || r.Status != results.Complete || r.Verdict != want || (r.ExitCode == 4) != changes || (r.Explore.Trace == nil) != changes {
			t.Errorf("changes %v: %s, %s, exit %d (%s; %v)", changes, r.Status, r.Verdict, r.ExitCode, r.Reason, err)
		}
		if said := strings.HasPrefix(r.Reason, "diverged: double_charge was seen in") && strings.Contains(r.Reason, "by chance"); said != changes {
			t.Errorf("changes %v: %s", changes, r.Reason)
		}
	}
}

// One order is inconclusive where a search would be: what cannot be put into an order says nothing, also where an order is asked for.
func TestOneOrderIsInconclusiveWhereASearchIs(t *testing.T) {
	for name, c := range map[string]struct {
		strategy scenarios.Strategy
		order    string
		why      string // empty: it holds
	}{
		"safe": {scenarios.InsertFirst, "AB", ""},
		"two connections": {strategy("two", func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			tx, err := db.BeginTx(ctx, pgx.TxOptions{})
			if err != nil {
				return scenarios.Response{}, err
			}
			defer tx.Rollback(ctx)
			if _, err := tx.Exec(ctx, `SELECT 1`); err != nil {
				return scenarios.Response{}, err
			}
			r, _, err := look(db.QueryRow(ctx, lookSQL, req.Key))
			return r, err
		}), "AB", "second connection"},
		"a wait that is not PostgreSQL's": {scenarios.Strategy{Name: "sleepy", New: func(scenarios.Env) scenarios.Handler {
			meet := make(chan struct{})
			return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
				_, err := db.Exec(ctx, `SELECT 1`)
				select {
				case meet <- struct{}{}:
				case <-meet:
				case <-ctx.Done():
				}
				return scenarios.Response{}, err
			}
		}}, "AB", "waits outside PostgreSQL"},
		"a lock that is never given back": {strategy("leak", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			err := db.Session(ctx, func(db scenarios.DB) error {
				_, err := db.Exec(ctx, `SELECT pg_advisory_lock($1)`, req.OrderID)
				return err
			})
			if err != nil {
				return scenarios.Response{}, err
			}
			return captureAndInsert(ctx, db, acq, req)
		}), "AB", "for ever"},
	} {
		t.Run(name, func(t *testing.T) {
			x := charge(t, explore.Defaults(c.strategy).Patient(300*time.Millisecond))
			var err error
			if x.Schedule, err = schedule.Parse(c.order); err != nil {
				t.Fatal(err)
			}
			r, err := x.Run(t.Context(), servertest.Server(t))
			if err != nil || r.Status != results.Complete || !strings.Contains(r.Reason, c.why) {
				t.Errorf("%s, %s (%s; %v)", r.Status, r.Verdict, r.Reason, err)
			}
			if held := r.Verdict == results.Held && r.ExitCode == 0; held != (c.why == "") || !held && (r.Verdict != results.Inconclusive || r.ExitCode != 4) {
				t.Errorf("%s, exit %d (%s)", r.Verdict, r.ExitCode, r.Reason)
			}
		})
	}
}

// What is left out is said, where it could have happened.
func TestBoundsSayWhatIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		s                 scenarios.Strategy
		crashes           int
		waiting, declined bool
	}{
		{scenarios.InsertFirst, 1, true, true},
		{scenarios.InsertFirst, 0, false, true},
		{scenarios.ReadThenWrite, 1, true, false}, // it has no acquirer
	} {
		o := options(c.s)
		o.Crashes, o.Sessions, o.MaxSchedules = c.crashes, 1, 1
		b := run(t, o).Bounds()
		if strings.Contains(b, "nobody dying while it waits") != c.waiting || strings.Contains(b, "no capture declined") != c.declined {
			t.Errorf("%s, %d crashes: %s", c.s.Name, c.crashes, b)
		}
	}
}
