package orphans_test

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/attempt"
	"idemlab/internal/check"
	"idemlab/internal/orphans"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// caught is a control that has done what it is there for.
var caught = results.Control{Ran: true, Strategy: "check-then-act", ForcedCharge: &results.ForcedCharge{Captures: 2, DoubleCharged: true}}

func options(t *testing.T, s scenarios.Strategy) orphans.Options {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	return orphans.Options{
		Strategy: s, Befalls: orphans.Befalls(), Each: 1, Reconciler: orphans.Patient, Lease: 10 * time.Millisecond,
		Isolation: pgx.ReadCommitted, Seed: 1, Expect: check.ExpectClaim, DDL: string(ddl), Control: &caught,
	}
}

// long makes calls that outlast the lease.
func long(o orphans.Options) orphans.Options {
	o.Acquirer.Latency = acquirer.Fixed(time.Hour)
	return o
}

func run(t *testing.T, o orphans.Options) results.Run {
	t.Helper()
	r, err := orphans.Run(t.Context(), servertest.Server(t), o)
	if err != nil {
		t.Fatalf("%s: %v", o.Strategy.Name, err)
	}
	return r
}

func group(r results.Run, b attempt.Befalls, retry string) results.RecoveryGroup {
	for _, g := range r.Recovery.Groups {
		if g.Befalls == string(b) && g.Retry == retry {
			return g
		}
	}
	return results.RecoveryGroup{}
}

// Both verdicts, on the same server: what survives a crash with a reconciler does, what does not is caught, and each for its own reason.
func TestVerdictsBothWays(t *testing.T) {
	with := func(o orphans.Options, change func(*orphans.Options)) orphans.Options { change(&o); return o }
	eager := func(o *orphans.Options) { o.Reconciler = orphans.Eager }
	none := func(o *orphans.Options) { o.Reconciler = orphans.None }
	dedup := func(o *orphans.Options) { o.Acquirer.Dedup = true }
	deadline := func(o *orphans.Options) { o.Deadline = 20 * time.Millisecond }
	first, open := options(t, scenarios.InsertFirst), options(t, scenarios.InsertFirstOpenTx)
	takeover, fenced := options(t, scenarios.LeaseTakeover), options(t, scenarios.LeaseTakeoverFenced)
	for _, c := range []struct {
		name    string
		o       orphans.Options
		verdict results.Verdict
		double  int // intents, of 10
		without int // captures that no row knows of, at the end
		orphans int // at the end
	}{
		{"insert-first", first, results.Held, 0, 0, 2},
		{"insert-first, long calls", long(first), results.Held, 0, 0, 2},
		{"insert-first, deadline", with(first, deadline), results.Held, 0, 0, 0},
		{"insert-first, nobody reconciles", with(first, none), results.Held, 0, 2, 4},
		{"insert-first, eager", with(first, eager), results.Held, 0, 0, 0},
		{"insert-first, eager, long calls", with(long(first), eager), results.Violated, 2, 2, 0},
		{"the record is gone", open, results.Violated, 2, 2, 0},
		{"takeover", takeover, results.Violated, 1, 1, 0},
		{"takeover, long calls", long(takeover), results.Violated, 4, 4, 0},
		{"takeover, long calls, fenced", long(fenced), results.Violated, 4, 4, 0},
		{"takeover, long calls, dedup", with(long(takeover), dedup), results.Held, 0, 0, 0},
		{"takeover, long calls, fenced, dedup", with(long(fenced), dedup), results.Held, 0, 0, 0},
		{"intent-then-reconcile, long calls", long(options(t, scenarios.IntentThenReconcile)), results.Held, 0, 0, 2},
		{"recovery-points, long calls", long(options(t, scenarios.RecoveryPoints)), results.Held, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(t, c.o)
			end := r.Recovery.Stages[len(r.Recovery.Stages)-1]
			if r.Verdict != c.verdict || r.ExitCode != check.ExitHeld || r.Status != results.Complete {
				t.Errorf("%s (%s), exit %d, %s", r.Verdict, r.Reason, r.ExitCode, r.Status)
			}
			if end.IntentsDoubleCharged != c.double || end.WithoutRecord != c.without || end.Orphans != c.orphans {
				t.Errorf("double-charged %d, without record %d, orphans %d; want %d, %d, %d",
					end.IntentsDoubleCharged, end.WithoutRecord, end.Orphans, c.double, c.without, c.orphans)
			}
			if end.CapturedCents != int64(end.Captures)*25000 || end.WithoutRecordCents != int64(end.WithoutRecord)*25000 {
				t.Errorf("to the cent: %+v", end)
			}
			if c.o.Reconciler == orphans.None {
				return
			}
			if p := r.Recovery.Passes; len(p) != 3 || p[2].Changed != 0 || p[1].Changed > 0 != (c.o.Deadline > 0) {
				t.Errorf("passes %+v", p)
			}
		})
	}
}

// The story of the reference strategy, moment by moment.
func TestWhatAClientIsTold(t *testing.T) {
	r := run(t, long(options(t, scenarios.InsertFirst)))
	for _, c := range []struct {
		befalls attempt.Befalls
		retry   string
		told    scenarios.Answer
		later   scenarios.Answer
	}{
		{attempt.AfterClaim, "before", scenarios.InProgress, scenarios.InProgress},
		{attempt.AfterClaim, "after", scenarios.InProgress, scenarios.InProgress},
		{attempt.AfterCapture, "before", scenarios.InProgress, scenarios.Replayed},
		{attempt.AfterCapture, "after", scenarios.Replayed, scenarios.Replayed},
		{attempt.AfterRecord, "before", scenarios.Replayed, scenarios.Replayed},
		{attempt.AfterRecord, "after", scenarios.Replayed, scenarios.Replayed},
		{attempt.SlowRequest, "before", scenarios.InProgress, scenarios.Replayed},
		{attempt.SlowRequest, "after", scenarios.InProgress, scenarios.Replayed},
		{attempt.SlowAnswer, "before", scenarios.InProgress, scenarios.Replayed},
		{attempt.SlowAnswer, "after", scenarios.Replayed, scenarios.Replayed},
	} {
		g := group(r, c.befalls, c.retry)
		if g.Told[string(c.told)] != 1 || g.Later[string(c.later)] != 1 {
			t.Errorf("%s, retry %s the reconciler: told %v, later %v; want %s, %s", c.befalls, c.retry, g.Told, g.Later, c.told, c.later)
		}
	}
	first, reconciled := r.Recovery.Stages[0], r.Recovery.Stages[1]
	if first.WithoutRecord != 4 || first.Orphans != 8 || reconciled.WithoutRecord != 0 || reconciled.Orphans != 4 {
		t.Errorf("first attempts: %+v\nreconciled: %+v", first, reconciled)
	}
}

// Every strategy of the scenario can be killed and held, at every moment, and ends as it says of itself.
func TestEveryStrategyEndsAsItSays(t *testing.T) {
	for _, s := range scenarios.ChargeOnce.Strategies() {
		if s.Lacking(servertest.Server(t).Info().VersionNum) != "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			o := long(options(t, s))
			want := check.ExitHeld
			if slices.Contains([]string{"check-insert-capture", "insert-where-not-exists", "version-column-apart"}, s.Name) {
				want = check.ExitInconclusive // they charge twice where two attempts meet, and here none do
			}
			if r := run(t, o); r.ExitCode != want {
				t.Errorf("%s (%s), expected %s", r.Verdict, r.Reason, r.Expected)
			}
		})
	}
}

// Without a control that was caught, nothing is held.
func TestNothingIsHeldWithoutAControl(t *testing.T) {
	o := options(t, scenarios.InsertFirst)
	o.Befalls = []attempt.Befalls{attempt.AfterCapture}
	o.Control = nil
	if r := run(t, o); r.Verdict != results.Inconclusive || r.ExitCode != check.ExitInconclusive {
		t.Errorf("%s, exit %d", r.Verdict, r.ExitCode)
	}
}

// An interrupt while attempts are held leaves no connection and no schema, and says what was measured.
func TestAnInterruptLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := long(options(t, scenarios.InsertFirstOpenTx))
	o.Lease, o.Acquirer.Latency = time.Minute, acquirer.Fixed(time.Hour)
	conn, err := pgx.ConnectConfig(t.Context(), servertest.Server(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	go func() { // when the first is held, in its open transaction
		for held := 0; held == 0; {
			if err := conn.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'`).Scan(&held); err != nil {
				break
			}
			time.Sleep(time.Millisecond) // between looks: PostgreSQL does not say when a session idles
		}
		cancel()
	}()
	r, err := orphans.Run(ctx, servertest.Server(t), o)
	if err != nil || r.Status != results.Aborted || r.Verdict != results.Inconclusive {
		t.Errorf("%s, %s, %v", r.Status, r.Verdict, err)
	}
	var schemas, sessions int
	if err := conn.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab%'),
		(SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'idemlab% attempts')`).Scan(&schemas, &sessions); err != nil || schemas+sessions > 0 {
		t.Errorf("%d schemas and %d sessions left, %v", schemas, sessions, err)
	}
}
