package explore_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// both runs o in full and reduced.
func both(t *testing.T, o explore.Options) (full, reduced explore.Result) {
	t.Helper()
	o.Search = explore.Full
	full = run(t, o)
	o.Search = explore.DPOR
	return full, run(t, o)
}

// crossCheck runs o in full and reduced, and compares: equal classes, equal outcomes, no class with two.
func crossCheck(t *testing.T, o explore.Options) {
	t.Helper()
	full, reduced := both(t, o)
	for _, r := range []explore.Result{full, reduced} {
		if r.Inconclusive != "" || !r.Complete {
			t.Fatalf("%s: %s (%s), inconclusive: %s", r.Options.Search, r.Coverage(), r.Cut, r.Inconclusive)
		}
		if r.Divergences > 0 {
			t.Errorf("%s: %d divergences", r.Options.Search, r.Divergences)
		}
	}
	if d := explore.Compare(full, reduced); d != "" {
		t.Error(d)
	}
	t.Logf("full %d, reduced %d + %d given up, %d outcomes", full.Schedules, reduced.Schedules, reduced.Redundant, len(full.Keys()))
}

// options are what a strategy of the tests is explored with.
func options(s scenarios.Strategy) explore.Options {
	o := explore.Defaults(s)
	o.Prepare, o.OwnCluster = makeOrder, true
	if s.Name == "two-locks" {
		o.Instances = 2
	}
	return o
}

func TestReducedAgreesWithFull(t *testing.T) {
	for _, s := range articles() {
		for _, c := range []struct {
			iso           pgx.TxIsoLevel
			crashes, lost int
		}{
			{pgx.ReadCommitted, 0, 0}, {pgx.ReadCommitted, 1, 0}, {pgx.ReadCommitted, 0, 1},
			{pgx.Serializable, 0, 0},
		} {
			t.Run(fmt.Sprintf("%s/%s/crashes=%d,lost=%d", s.Name, c.iso, c.crashes, c.lost), func(t *testing.T) {
				o := explore.Defaults(s)
				o.Isolation, o.Crashes, o.LostReplies = c.iso, c.crashes, c.lost
				crossCheck(t, o)
			})
		}
	}
	for _, name := range []string{
		"tx-ser", "for-update-ser", "advisory-rr", "insert-not-exists", "get-or-create", "effect-first", "savepoint", "mutex", "two-locks",
	} {
		t.Run(name, func(t *testing.T) { crossCheck(t, options(named(name))) })
	}
	t.Run("for-update-rc/crashes=1", func(t *testing.T) {
		o := options(named("for-update-rc")) // a reduced search that took a waking COMMIT for program order lost ten classes here
		o.Crashes = 1
		crossCheck(t, o)
	})
}

// without is the relation that has lost the conflicts between two modes.
func without(m, n schedule.Mode) schedule.Relation {
	drop := func(f schedule.Footprint, mode schedule.Mode) (out schedule.Footprint) {
		for _, a := range f {
			out = append(out, schedule.Access{Object: a.Object, Mode: a.Mode &^ mode})
		}
		return out
	}
	return func(f, g schedule.Footprint) bool {
		return schedule.Depend(drop(f, m), drop(g, m)) || schedule.Depend(drop(f, n), drop(g, n))
	}
}

// A search is only as good as the relation it is given. The cross-check must notice when that is wrong.
func TestAWrongRelationIsCaught(t *testing.T) {
	for _, c := range []struct {
		name, strategy string
		rel            schedule.Relation
	}{
		{"readers do not see commits", "check-then-act", without(schedule.Read, schedule.Read)},
		{"locks do not exclude", "for-update-rr", without(schedule.Lock, schedule.Lock)},
		{"what is serializable does not collide", "tx-ser", without(schedule.Saw|schedule.Wrote, schedule.Saw|schedule.Wrote)},
	} {
		t.Run(c.name, func(t *testing.T) {
			full, reduced := both(t, options(named(c.strategy)).Under(c.rel))
			if d := explore.Compare(full, reduced); d == "" {
				t.Error("full and reduced agree")
			}
		})
	}
}

// An advisory lock of the session outlives the COMMIT: what that gives back is not what the other waits for.
func TestALockThatOutlivesItsTransaction(t *testing.T) {
	for _, faults := range [][2]int{{0, 0}, {1, 0}, {0, 1}} {
		o := options(named("advisory-session"))
		o.Crashes, o.LostReplies = faults[0], faults[1]
		crossCheck(t, o)
	}
}
