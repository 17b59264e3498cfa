package race

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/server/servertest"
	"idemlab/internal/tables"
	"idemlab/results"
	"idemlab/scenarios"
)

// small is a race that takes a moment: wide enough for every attempt to overlap, by the acquirer's time alone.
func small(t *testing.T, s scenarios.Strategy) Options {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Scenario: s.Scenario(), Strategy: s,
		Attempts: 8, Intents: 3, Rounds: 2, Instances: 1, Pool: 8, Isolation: pgx.ReadCommitted,
		Acquirer: acquirer.Options{Latency: acquirer.Fixed(20 * time.Millisecond)}, AttemptTimeout: time.Minute,
		Seed: 1, Expect: check.ExpectClaim, DDL: string(ddl), Child: []string{self, childArg},
	}
	if !o.Scenario.Acquirer {
		o.Attempts = 40 // nothing takes its time: it takes a crowd for two to meet
	}
	return o
}

func run(t *testing.T, o Options) results.Run {
	t.Helper()
	r, err := Run(t.Context(), servertest.Server(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Every strategy of the project, on one server: those that claim to hold do, and those that do not are caught.
func TestEveryClaimBothWays(t *testing.T) {
	for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
		for _, s := range scenarios.All() {
			t.Run(string(level)+"/"+s.Name, func(t *testing.T) {
				t.Parallel() // most of a race is waiting: for the acquirer and for the disk
				if why := s.Lacking(servertest.Server(t).Info().VersionNum); why != "" {
					t.Skip(s.Name, why)
				}
				o := small(t, s)
				o.Isolation, o.Rounds, o.Pool = level, 1, 6
				if o.Scenario.Acquirer {
					o.Attempts = 6
				}
				r := run(t, o)
				// What a strategy shows by chance (two claims within one commit's time) may take several races, and so may meeting
				// at all where nothing takes its time; what it must never show gets no second one.
				again := func() bool {
					return strings.Contains(r.Reason, "not shown") || !o.Scenario.Acquirer && strings.Contains(r.Reason, "did not overlap")
				}
				for seed := uint64(2); r.ExitCode == check.ExitInconclusive && again() && seed < 30; seed++ {
					o.Seed = seed
					r = run(t, o)
				}
				if r.ExitCode != 0 || r.Status != results.Complete {
					t.Errorf("%s, exit %d: %s; answers %v, states %v", r.Verdict, r.ExitCode, r.Reason, r.Answers, r.SQLStates)
				}
			})
		}
	}
}

func TestCheckThenActDoubleChargesEveryIntent(t *testing.T) {
	r := run(t, small(t, scenarios.CheckThenAct))
	c := r.Counts
	if r.Verdict != results.Violated || c.IntentsDoubleCharged != 6 || c.Intents != 6 || c.Attempts != 48 {
		t.Errorf("%s: %+v", r.Verdict, c)
	}
	if c.Captures != c.DuplicateCaptures+c.Intents || c.Captures != r.Answers["charged"] || *c.Rows != c.Captures ||
		c.OwedCents != 6*amountCents || c.CapturedCents != int64(c.Captures)*amountCents {
		t.Errorf("the sums do not agree: %+v, %v", c, r.Answers)
	}
	var rounds results.RoundCharges
	for _, x := range r.Rounds {
		rounds.Captures += x.Captures
		rounds.IntentsDoubleCharged += x.IntentsDoubleCharged
	}
	if len(r.Rounds) != 2 || rounds.Captures != c.Captures || rounds.IntentsDoubleCharged != 6 {
		t.Errorf("rounds %+v", r.Rounds)
	}
	if r.Overlap.IntentsOverlapped != 6 || r.Overlap.MaxInFlight < 2 {
		t.Errorf("overlap %+v", r.Overlap)
	}
	if r.Control != nil {
		t.Error("a strategy that claims nothing needs no control")
	}
}

func TestInsertFirstHoldsAndAnswersItsFollowups(t *testing.T) {
	r := run(t, small(t, scenarios.InsertFirst))
	c, f := r.Counts, r.Followups
	if r.Verdict != results.Held || c.Captures != 6 || c.DuplicateCaptures != 0 || *c.Rows != 6 || *c.Orphans != 0 {
		t.Errorf("%s: %+v (%s)", r.Verdict, c, r.Reason)
	}
	if o := *f.OtherCharges; f.Repeats != 6 || f.ReplayedSameBytes != 6 || f.Mismatches != 6 || f.Refused != 6 || o.Others != 6 || o.OthersCharged != 6 {
		t.Errorf("follow-ups %+v", f)
	}
	if r.Answers["charged"] != 6 || r.Answers["in_progress"]+r.Answers["replayed"] != 42 {
		t.Errorf("answers %v", r.Answers)
	}
	if r.Control == nil || !r.Control.DoubleCharged || r.Control.Captures != 2 {
		t.Errorf("control %+v", r.Control)
	}
}

// The order's other charge must go through, and stands in no count of the first: neither its capture nor its row, under
// whatever key the strategy keeps it.
func TestAnotherChargeOfTheOrder(t *testing.T) {
	r := run(t, small(t, scenarios.OrderIDKey))
	if r.Followups.OthersCharged != 0 || r.Counts.Captures != 6 || *r.Counts.Rows != 6 || !strings.Contains(r.Reason, "missing_charge") {
		t.Errorf("refused: %+v, %+v, %s", *r.Followups.OtherCharges, r.Counts, r.Reason)
	}
	const tries = 8 + 2 // each of them a charge, the follow-ups of the same key included
	r = run(t, small(t, scenarios.NewKeyPerRetry))
	if r.Followups.OthersCharged != 6 || r.Counts.Captures != 6*tries || *r.Counts.Rows != 6*tries {
		t.Errorf("charged: %+v, %+v", *r.Followups.OtherCharges, r.Counts)
	}
}

// With an acquirer that deduplicates, even check-then-act charges once: the result says so, and that it is not what is claimed.
func TestAcquirerThatDeduplicates(t *testing.T) {
	o := small(t, scenarios.CheckThenAct)
	o.Acquirer.Dedup = true
	r := run(t, o)
	c := r.Counts
	if c.DuplicateCaptures != 0 || c.Captures != 6 || c.CaptureRequests <= 6 || c.CapturedCents != c.OwedCents || !r.Settings.AcquirerDedup {
		t.Errorf("%+v, settings %+v", c, r.Settings)
	}
	if r.ExitCode != check.ExitInconclusive || !strings.Contains(r.Reason, "not shown: double_charge") {
		t.Errorf("exit %d: %s", r.ExitCode, r.Reason)
	}
	o = small(t, scenarios.CheckThenAct)
	o.Strategy.WantsDedup = true
	if r := run(t, o); r.Counts.Captures != 6 || !r.Settings.AcquirerDedup {
		t.Errorf("a strategy that wants it: %+v, settings %+v", r.Counts, r.Settings)
	}
}

// The worst order from outside, with nothing left to luck: it double-charges who can be double-charged, and nobody else; it
// ends on a second capture, on an answer, and on a wait in PostgreSQL.
func TestForcedOrder(t *testing.T) {
	for _, c := range []struct {
		s    scenarios.Strategy
		want int
	}{
		{scenarios.CheckThenAct, 2}, {scenarios.UniqueEffectFirst, 2}, {scenarios.ForUpdateMissingRow, 2}, {scenarios.VersionColumnLate, 2},
		{scenarios.SerializableCheck, 2}, {scenarios.NewKeyPerRetry, 2}, {scenarios.GetOrCreateUnowned, 2},
		{scenarios.LeaseTakeover, 2}, {scenarios.LeaseTakeoverFenced, 2},
		{scenarios.InsertFirst, 1}, {scenarios.InsertFirstCatch, 1}, {scenarios.InsertFirstOpenTx, 1}, {scenarios.CatchInTx, 1},
		{scenarios.ForUpdateOrder, 1}, {scenarios.VersionColumn, 1}, {scenarios.SerializableCommitFirst, 1}, {scenarios.AdvisoryXact, 1},
		{scenarios.AdvisorySession, 1}, {scenarios.ProcessMutex, 1}, {scenarios.LeaseTakeoverHeartbeat, 1}, {scenarios.RecoveryPoints, 1},
		{scenarios.IntentThenReconcile, 1},
	} {
		t.Run(c.s.Name, func(t *testing.T) {
			got, err := Forced(t.Context(), servertest.Server(t), small(t, c.s), c.s)
			if err != nil || got != c.want {
				t.Errorf("%d captures, want %d (%v)", got, c.want, err)
			}
		})
	}
}

// A control that does not fail makes "held" worthless.
func TestControlThatHoldsMakesTheRunInconclusive(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Scenario.Control = scenarios.InsertFirst
	r := run(t, o)
	if r.Verdict != results.Inconclusive || r.ExitCode != 4 || !strings.Contains(r.Reason, "control") {
		t.Errorf("%s, exit %d: %s", r.Verdict, r.ExitCode, r.Reason)
	}
}

func TestNoOverlapIsInconclusive(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Attempts = 1
	r := run(t, o)
	if r.Verdict != results.Inconclusive || r.ExitCode != 4 || !strings.Contains(r.Reason, "overlap") {
		t.Errorf("%s, exit %d: %s", r.Verdict, r.ExitCode, r.Reason)
	}
}

func TestInstancesAreProcessesWithOneAcquirer(t *testing.T) {
	for _, s := range []scenarios.Strategy{
		scenarios.CheckThenAct, scenarios.InsertFirst, scenarios.ProcessMutex, scenarios.AdvisorySession, scenarios.RecoveryPoints,
	} {
		t.Run(s.Name, func(t *testing.T) {
			o := small(t, s)
			o.Instances, o.Pool, o.Attempts = 3, 3, 7 // dealt 3, 2, 2
			r := run(t, o)
			if r.ExitCode != 0 || r.Counts.Attempts != 42 || r.Overlap.IntentsOverlapped != 6 {
				t.Errorf("exit %d %s: %+v %+v", r.ExitCode, r.Reason, r.Counts, r.Overlap)
			}
		})
	}
}

func TestInstanceThatCannotStartSaysWhy(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Instances, o.Strategy.Name = 2, "of-another-program"
	_, err := Run(t.Context(), servertest.Server(t), o)
	if err == nil || !strings.Contains(err.Error(), "of-another-program") {
		t.Errorf("%v", err)
	}
	o.Child = []string{"/nonexistent"}
	if _, err = Run(t.Context(), servertest.Server(t), o); err == nil {
		t.Error("started nothing, said nothing")
	}
}

// What a transaction that spans the call costs: the losers wait, in PostgreSQL, for the winner's acquirer.
func TestOpenTransactionMakesLosersWait(t *testing.T) {
	const latency = 300 * time.Millisecond
	o := small(t, scenarios.InsertFirstOpenTx)
	o.Intents, o.Rounds, o.Acquirer.Latency = 1, 1, acquirer.Fixed(latency)
	w := run(t, o).Waits
	if w.Lock.Count != 7 || len(w.Blocked) != 7 {
		t.Fatalf("%d lock waits, want 7: %+v", w.Lock.Count, w)
	}
	winner := w.Blocked[0].For
	for _, b := range w.Blocked {
		if b.Event != "Lock/transactionid" || b.Step != "claim" || b.For != winner || b.Waiter == winner {
			t.Errorf("%+v", b)
		}
		if b.ServerMS < 0.9*results.MS(latency) || b.ClientMS < b.ServerMS {
			t.Errorf("waited %v ms by the server, %v by the client, for an acquirer that takes %v", b.ServerMS, b.ClientMS, latency)
		}
	}

	o.Pool = 2
	if p := run(t, o).Waits.Pool; p.Count < 6 || *p.MaxMS < 0.9*results.MS(latency) {
		t.Errorf("a pool of 2, held by the winner and a waiter: %+v", p)
	}
	o.Strategy = scenarios.InsertFirst
	if w := run(t, o).Waits; w.Pool.MaxMS != nil && *w.Pool.MaxMS > 0.5*results.MS(latency) {
		t.Errorf("a committed claim holds no connection during the call: %+v", w.Pool)
	}
}

func TestDeclinesAreStoredAndReplayed(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Acquirer.DeclineShare, o.Acquirer.Seed = 0.5, 3
	r := run(t, o)
	c := r.Counts
	if c.Declines == 0 || c.Captures == 0 || c.Declines+c.Captures != 6 || r.Answers["declined"] != c.Declines {
		t.Errorf("%+v, answers %v", c, r.Answers)
	}
	if r.Verdict != results.Held || r.Followups.ReplayedSameBytes != 6 || c.OwedCents != int64(c.Captures)*amountCents {
		t.Errorf("%s (%s): %+v %+v", r.Verdict, r.Reason, r.Followups, c)
	}
}

// The lab notices a schema without the guarantee: by name where the SQL would be refused, by its effect where it would not.
func TestSchemaWithoutTheConstraint(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.DDL = strings.Replace(o.DDL, "CONSTRAINT uq_cobranca_idempotency_key UNIQUE (idempotency_key)", "CHECK (true)", 1)
	if _, err := Run(t.Context(), servertest.Server(t), o); !errors.Is(err, tables.ErrMissingConstraint) {
		t.Errorf("insert-first: %v", err)
	}
	o.Strategy = scenarios.InsertFirstCatch
	if r := run(t, o); r.Verdict != results.Violated || r.ExitCode != 1 || r.Counts.IntentsDoubleCharged == 0 {
		t.Errorf("insert-first-catch: %s, exit %d", r.Verdict, r.ExitCode)
	}
}

// spy runs before is each time that an attempt of an intent begins; warm-ups are left alone.
func spy(s scenarios.Strategy, before func(ctx context.Context, db scenarios.DB, nth int64) error) scenarios.Strategy {
	inner := s.New
	s.New = func(env scenarios.Env) scenarios.Handler {
		handle := inner(env)
		var n atomic.Int64
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if req.OrderID > firstOrder { // above the warm-up's and the control's
				if err := before(ctx, db, n.Add(1)); err != nil {
					return scenarios.Response{}, err
				}
			}
			return handle(ctx, db, acq, req)
		}
	}
	return s
}

const attemptsPerIntent = 8 + 3 // with the follow-ups

func TestCtrlCReportsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := small(t, spy(scenarios.InsertFirst, func(_ context.Context, _ scenarios.DB, nth int64) error {
		if nth == 2*attemptsPerIntent+3 {
			cancel() // in the middle of the third intent
		}
		return nil
	}))
	o.Acquirer.Latency = acquirer.Fixed(50 * time.Millisecond)
	r, err := Run(ctx, servertest.Server(t), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != results.Aborted || r.Counts.Intents != 2 || r.Counts.Captures != 2 || r.Verdict == results.Held {
		t.Errorf("%s, %s: %+v", r.Status, r.Verdict, r.Counts)
	}
}

// Also where the interrupt comes when every intent was raced: whatever the run still had to do, it did not do it whole.
func TestInterruptedRaceNeverHolds(t *testing.T) {
	srv := servertest.Server(t)
	for _, c := range []struct {
		strategy scenarios.Strategy
		verdict  results.Verdict
		reason   string
	}{{scenarios.InsertFirst, results.Inconclusive, "interrupted"}, {scenarios.CheckThenAct, results.Violated, "double_charge"}} {
		ctx, cancel := context.WithCancel(t.Context())
		o := small(t, c.strategy)
		var kept string
		o.Keep, o.Kept = true, func(schema string) { kept = schema; cancel() }
		r, err := Run(ctx, srv, o)
		cancel()
		if err != nil || r.Status != results.Aborted || r.Counts.Intents != 6 || r.Verdict != c.verdict || !strings.HasPrefix(r.Reason, c.reason) {
			t.Errorf("%s: %v, %s, %d intents, %s (%s)", c.strategy.Name, err, r.Status, r.Counts.Intents, r.Verdict, r.Reason)
		}
		conn, err := pgx.Connect(t.Context(), srv.DSN())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Exec(t.Context(), `DROP SCHEMA `+kept+` CASCADE`); err != nil {
			t.Error(err)
		}
		_ = conn.Close(t.Context())
	}
}

func TestLostConnectionKeepsWhatWasMeasured(t *testing.T) {
	o := small(t, spy(scenarios.InsertFirst, func(ctx context.Context, db scenarios.DB, nth int64) error {
		if nth < 2*attemptsPerIntent+3 {
			return nil
		}
		_, err := db.Exec(ctx, `/* die */ SELECT pg_terminate_backend(pg_backend_pid())`)
		return err
	}))
	r, err := Run(t.Context(), servertest.Server(t), o)
	if !errors.Is(err, ErrServerLost) {
		t.Fatalf("error %v", err)
	}
	if r.Status != results.Errored || r.Counts.Intents != 2 || r.Verdict == results.Held {
		t.Errorf("%s, %s: %+v", r.Status, r.Verdict, r.Counts)
	}
}

func TestAttemptThatHangsIsGivenUp(t *testing.T) {
	o := small(t, spy(scenarios.InsertFirst, func(ctx context.Context, db scenarios.DB, nth int64) error {
		if nth > 1 {
			return nil
		}
		<-ctx.Done()
		return ctx.Err()
	}))
	o.AttemptTimeout, o.Expect = 300*time.Millisecond, check.ExpectHeld
	r := run(t, o)
	if r.Answers["failed"] != 1 || *r.Counts.AttemptsGivenUp != 1 || r.Verdict != results.Violated || !strings.Contains(r.Reason, "error_to_duplicate") {
		t.Errorf("%s (%s): %v, %d given up", r.Verdict, r.Reason, r.Answers, *r.Counts.AttemptsGivenUp)
	}
}

func TestKeysFollowTheSeed(t *testing.T) {
	a, again, b := newIntent(1, 1, 0), newIntent(1, 1, 0), newIntent(2, 1, 0)
	if a.req != again.req || a.req.Key == b.req.Key || a.req.Key == newIntent(1, 2, 0).req.Key {
		t.Errorf("%v %v %v", a, again, b)
	}
	if len(a.req.Key) != 36 || a.req.Key[14] != '4' || !strings.ContainsRune("89ab", rune(a.req.Key[19])) {
		t.Errorf("%s is no UUID of version 4", a.req.Key)
	}
}

func TestNothingIsLeft(t *testing.T) {
	servertest.Server(t) // its own goroutines are there before, and stay
	before := goleak.IgnoreCurrent()
	o := small(t, scenarios.CheckThenAct)
	run(t, o)
	o.Instances, o.Pool = 2, 4
	run(t, o)
	goleak.VerifyNone(t, before)
	conn, err := pgx.ConnectConfig(t.Context(), servertest.Server(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var schemas int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab%'`).Scan(&schemas); err != nil || schemas != 0 {
		t.Errorf("%d schemas stay (%v)", schemas, err)
	}
	// A backend notices the closed socket a moment later: look until it has, and let the test's own limit end a leak.
	for sessions := -1; sessions != 0; {
		if err := conn.QueryRow(t.Context(), `
			SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'idemlab%' AND pid <> pg_backend_pid()`).Scan(&sessions); err != nil {
			t.Fatal(err)
		}
	}
}

// Who is told to wait for ever was not served: follow-ups count.
func TestFollowupsAreJudged(t *testing.T) {
	s := scenarios.InsertFirst
	inner := s.New
	s.New = func(env scenarios.Env) scenarios.Handler {
		handle := inner(env)
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			resp, err := handle(ctx, db, acq, req)
			if resp.Answer == scenarios.Replayed || resp.Answer == scenarios.Mismatched {
				resp.Answer, resp.HTTP = scenarios.InProgress, 409
			}
			return resp, err
		}
	}
	if r := run(t, small(t, s)); r.Verdict != results.Violated || r.ExitCode != 1 || !strings.Contains(r.Reason, "divergent_answers") {
		t.Errorf("%s, exit %d: %s", r.Verdict, r.ExitCode, r.Reason)
	}
}

// Nothing is believed to hold without a control, whatever it claims of itself.
func TestHeldNeedsAControl(t *testing.T) {
	o := small(t, scenarios.CheckThenAct)
	o.Expect = check.ExpectHeld
	if r := run(t, o); r.Control == nil || !r.Control.DoubleCharged {
		t.Errorf("with --expect=held: %+v", r.Control)
	}
	o = small(t, scenarios.InsertFirst)
	o.Strategy.Never, o.Strategy.Shows = nil, nil
	if r := run(t, o); r.Control == nil || r.Verdict != results.Held {
		t.Errorf("claiming nothing: %+v, %s (%s)", r.Control, r.Verdict, r.Reason)
	}
	o = small(t, scenarios.CheckThenAct)
	o.Attempts = 1
	if r := run(t, o); r.Control != nil || r.Verdict != results.Inconclusive || !strings.Contains(r.Reason, "no control") {
		t.Errorf("a bad example that showed nothing: %+v, %s (%s)", r.Control, r.Verdict, r.Reason)
	}
}
