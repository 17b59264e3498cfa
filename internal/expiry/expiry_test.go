package expiry_test

import (
	"context"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/expiry"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// caught is a control that has done what it is there for.
var caught = results.Control{Ran: true, Strategy: "check-then-act", ForcedCharge: &results.ForcedCharge{Captures: 2, DoubleCharged: true}}

func options(t *testing.T, s scenarios.Strategy) expiry.Options {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	return expiry.Options{
		Strategy: s, Answered: 3, Unfinished: 1, Fresh: 2, Lifetime: 24 * time.Hour, RetryAfter: 25 * time.Hour, Purge: expiry.Finished, Batch: 2,
		Isolation: pgx.ReadCommitted, Seed: 1, Expect: check.ExpectClaim, DDL: string(ddl), Control: &caught,
	}
}

func run(t *testing.T, o expiry.Options) results.Run {
	t.Helper()
	r, err := expiry.Run(t.Context(), servertest.Server(t), o)
	if err != nil {
		t.Fatalf("%s: %v", o.Strategy.Name, err)
	}
	return r
}

// Both verdicts: a retry that comes later than the key's lifetime is charged again where nothing but the key is known, and is known where
// the business event is; one that comes earlier is known to both.
func TestVerdictsBothWays(t *testing.T) {
	with := func(o expiry.Options, change func(*expiry.Options)) expiry.Options { change(&o); return o }
	early := func(o *expiry.Options) { o.Lifetime = 72 * time.Hour }
	everything := func(o *expiry.Options) { o.Purge = expiry.Everything }
	nothing := func(o *expiry.Options) { o.Purge = expiry.Nothing }
	dedup := func(o *expiry.Options) { o.Acquirer.Dedup = true }
	declined := func(o *expiry.Options) { o.Acquirer.DeclineShare = 0.5 }
	first, event := options(t, scenarios.InsertFirst), options(t, scenarios.BusinessEvent)
	for _, c := range []struct {
		name    string
		o       expiry.Options
		verdict results.Verdict
		double  int // intents, of 6
		deleted int
		batches int
		told    scenarios.Answer // whoever comes again for what was answered
	}{
		{"the key alone", first, results.Violated, 3, 3, 2, scenarios.Charged},
		{"the key alone, but kept long enough", with(first, early), results.Held, 0, 0, 0, scenarios.Replayed},
		{"the key alone, and never purged", with(first, nothing), results.Held, 0, 0, 0, scenarios.Replayed},
		{"the key alone, and a careless purger", with(first, everything), results.Violated, 4, 4, 2, scenarios.Charged},
		{"the key alone, and an acquirer that remembers", with(first, dedup), results.Held, 0, 3, 2, scenarios.Charged},
		{"the event", event, results.Held, 0, 3, 2, scenarios.Replayed},
		{"the event, and a careless purger", with(event, everything), results.Held, 0, 4, 2, scenarios.Replayed},
		{"the event, some declined", with(event, declined), results.Held, 0, 3, 2, scenarios.Replayed},
		{"a derived key is derived anew", options(t, scenarios.RecoveryPoints), results.Violated, 3, 3, 2, scenarios.Charged},
	} {
		t.Run(c.name, func(t *testing.T) {
			var done atomic.Int64
			c.o.Done = &done
			r := run(t, c.o)
			if r.Verdict != c.verdict || r.ExitCode != check.ExitHeld || r.Status != results.Complete {
				t.Errorf("%s (%s), exit %d, %s", r.Verdict, r.Reason, r.ExitCode, r.Status)
			}
			x := r.Expiry
			if r.Counts.IntentsDoubleCharged != c.double || x.Deleted != c.deleted || x.Batches != c.batches {
				t.Errorf("double-charged %d, deleted %d in %d batches; want %d, %d, %d", r.Counts.IntentsDoubleCharged, x.Deleted, x.Batches, c.double, c.deleted, c.batches)
			}
			if g := x.Groups[0]; g.Kind != "answered" || g.Told[string(c.told)] != 3 {
				t.Errorf("%+v, want them told %s", g, c.told)
			}
			if g := x.Groups[2]; g.Kind != "fresh" || g.Purged != 0 || g.DoubleCharged != 0 {
				t.Errorf("%+v", g)
			}
			if n := done.Load(); n != int64(c.o.Intents()) {
				t.Errorf("%d intents were counted as done", n)
			}
		})
	}
}

// An attempt that is under way for longer than a key lives is not purged, and its client is told to wait; a careless purger frees its key.
func TestAnAttemptUnderWay(t *testing.T) {
	for purge, want := range map[expiry.Purge]struct {
		told     scenarios.Answer
		captures int
	}{expiry.Finished: {scenarios.InProgress, 1}, expiry.Everything: {scenarios.Charged, 2}} {
		o := options(t, scenarios.InsertFirst)
		o.Purge = purge
		if g := run(t, o).Expiry.Groups[1]; g.Kind != "unfinished" || g.Told[string(want.told)] != 1 || g.Captures != want.captures {
			t.Errorf("%s: %+v, want one told %s and %d captures", purge, g, want.told, want.captures)
		}
	}
}

// Every strategy of the scenario ends as it says of itself.
func TestEveryStrategyEndsAsItSays(t *testing.T) {
	for _, s := range scenarios.ChargeOnce.Strategies() {
		if s.Lacking(servertest.Server(t).Info().VersionNum) != "" {
			continue
		}
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			o := options(t, s)
			if r := run(t, o); r.ExitCode != check.ExitHeld {
				t.Errorf("%s (%s), expected %s", r.Verdict, r.Reason, r.Expected)
			}
			if never, _ := s.Judged(scenarios.Purge, pgx.ReadCommitted); slices.Contains(never, scenarios.DoubleCharge) != (s.Name == scenarios.BusinessEvent.Name) {
				t.Error("it promises to remember what was purged")
			}
		})
	}
}

func TestAnInterruptLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := options(t, scenarios.InsertFirst)
	o.Answered = 1000
	var done atomic.Int64
	o.Done = &done
	go func() {
		for done.Load() == 0 {
			time.Sleep(time.Millisecond) // between looks at the counter
		}
		cancel()
	}()
	r, err := expiry.Run(ctx, servertest.Server(t), o)
	if err != nil || r.Status != results.Aborted || r.Verdict != results.Inconclusive {
		t.Errorf("%s, %s, %v", r.Status, r.Verdict, err)
	}
}

// A refusal that is not stored is given anew, and may then be another: whoever promises nothing of it is not held to it, others are.
func TestARefusalIsJudgedByWhatWasPromised(t *testing.T) {
	for _, c := range []struct {
		strategy scenarios.Strategy
		told     scenarios.Answer
	}{{scenarios.StoreSuccessOnly, scenarios.Declined}, {scenarios.InsertFirst, scenarios.Replayed}} {
		o := options(t, c.strategy)
		o.Lifetime, o.Unfinished, o.Fresh, o.Answered, o.Acquirer.DeclineShare = 72*time.Hour, 0, 0, 12, 0.5
		r := run(t, o)
		if r.Verdict != results.Held || r.ExitCode != check.ExitHeld || r.Expiry.Groups[0].Told[string(c.told)] == 0 {
			t.Errorf("%s: %s (%s), exit %d, %v", c.strategy.Name, r.Verdict, r.Reason, r.ExitCode, r.Expiry.Groups[0].Told)
		}
	}
}
