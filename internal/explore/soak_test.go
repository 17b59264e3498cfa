//go:build soak

// The long tests: go test -tags soak -timeout 0 -run TestSoak ./internal/explore
package explore_test

import (
	"flag"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/scenarios"
)

func TestSoakReality(t *testing.T) {
	for _, s := range scenarios.All() {
		for _, iso := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.Serializable, pgx.RepeatableRead} {
			t.Run(s.Name+"/"+string(iso), func(t *testing.T) { reality(t, s, iso, 20_000) })
		}
	}
	for _, s := range catalogue() {
		t.Run(s.Name, func(t *testing.T) { reality(t, s, "", 4_000) })
	}
}

// fullLimit is how long one full search may take; those that take longer are named as unchecked.
var fullLimit = flag.Duration("full-limit", 10*time.Minute, "give up on a full search after this time")

// Full against reduced, wherever full ends in time.
func TestSoakReducedAgreesWithFull(t *testing.T) {
	for _, s := range append(scenarios.All(), catalogue()...) {
		for _, iso := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
			for _, faults := range [][2]int{{0, 0}, {1, 0}, {0, 1}} {
				o := options(s)
				o.Isolation, o.Crashes, o.LostReplies = iso, faults[0], faults[1]
				soakCompare(t, fmt.Sprintf("%s/%s/crashes=%d,lost=%d", s.Name, iso, faults[0], faults[1]), o)
			}
		}
	}
	o := options(scenarios.InsertFirst)
	o.Others = []explore.Function{cleaner}
	soakCompare(t, "insert-first beside a cleaner", o)
}

func soakCompare(t *testing.T, name string, o explore.Options) {
	t.Run(name, func(t *testing.T) {
		o.Budget = *fullLimit
		full, reduced := both(t, o)
		t.Logf("full %d (%s), reduced %d + %d given up (%s), %d outcomes, divergences %d and %d, %.0f/s", full.Schedules, full.Coverage(),
			reduced.Schedules, reduced.Redundant, reduced.Coverage(), len(reduced.Keys()), full.Divergences, reduced.Divergences, full.SchedulesPerSecond())
		if full.Cut == "budget" || reduced.Cut == "budget" {
			t.Logf("UNCHECKED: not through after %s", o.Budget)
			return
		}
		if d := explore.Compare(full, reduced); d != "" || full.Inconclusive+reduced.Inconclusive != "" || full.Divergences+reduced.Divergences > 0 {
			t.Errorf("%s %s %s", d, full.Inconclusive, reduced.Inconclusive)
		}
	})
}

func TestSoakEachViolationComesAgain(t *testing.T) {
	eachViolationComesAgain(t, 100, "check-then-act", "insert-first", "insert-first-catch", "insert-first-open-tx", "advisory-rr", "tx-ser", "get-or-create")
}

// Ten thousand waits, with every processor busy with something else.
func TestSoakWaitsAreProvedSoonAndRightly(t *testing.T) {
	busy(t, 4*runtime.NumCPU())
	var all []time.Duration
	fingerprints := map[string]bool{}
	for len(all) < 10_000 {
		o := options(scenarios.InsertFirstOpenTx)
		o.Sessions, o.Crashes = 2, 1
		r := run(t, o)
		if !r.Complete || r.Divergences > 0 {
			t.Fatalf("%s, %d divergences, %s", r.Coverage(), r.Divergences, r.Inconclusive)
		}
		fingerprints[r.Fingerprint] = true
		all = append(all, r.Proofs()...)
	}
	slices.Sort(all)
	p50, p99 := all[len(all)/2], all[len(all)*99/100]
	t.Logf("%d waits: p50 %s, p99 %s, longest %s", len(all), p50, p99, all[len(all)-1])
	if len(fingerprints) != 1 {
		t.Errorf("%d fingerprints", len(fingerprints))
	}
	if p50 > 2*time.Millisecond || p99 > 15*time.Millisecond {
		t.Errorf("p50 %s, p99 %s", p50, p99)
	}
}

// Five runs, two at once, four times as many busy threads as processors.
func TestSoakFingerprints(t *testing.T) {
	busy(t, 4*runtime.NumCPU())
	for _, s := range append(scenarios.All(), named("for-update-rr"), named("two-locks"), named("get-or-create"), named("tx-ser")) {
		for crashes := range 2 {
			o := options(s)
			o.Crashes = crashes
			first := run(t, o)
			for range 4 {
				same(t, "again", first, run(t, o))
			}
		}
	}
	for range 5 {
		TestRunsAtOnceAreTheSame(t)
	}
}

// busy keeps processors busy until the test is over: processes of their own, for goroutines would only hold up the test's.
func busy(t *testing.T, n int) {
	t.Helper()
	for range n {
		c := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Wait() }) // killed when the context ended, just before
	}
}
