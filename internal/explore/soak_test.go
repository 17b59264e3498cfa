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
	for _, s := range articles() {
		for _, iso := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.Serializable, pgx.RepeatableRead} {
			t.Run(s.Name+"/"+string(iso), func(t *testing.T) { reality(t, s, iso, 20_000) })
		}
	}
	for _, s := range append(scenarios.All(), catalogue()...) {
		t.Run(s.Name, func(t *testing.T) { reality(t, s, "", 20_000) })
	}
}

// fullLimit is how long one full search may take; those that take longer are named as unchecked.
var fullLimit = flag.Duration("full-limit", 10*time.Minute, "give up on a full search after this time")

// walks are made before a full search, to know whether it can end in time, and hopeless is how many orders it cannot do however quick:
// walks that say so are to be believed, since an estimate by few of them is rather too low than too high.
const (
	walks    = 300
	hopeless = 1500 // a second: three times what was ever seen
)

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
	o.Others = []scenarios.Job{cleaner}
	soakCompare(t, "insert-first beside a cleaner", o)
}

func soakCompare(t *testing.T, name string, o explore.Options) {
	t.Run(name, func(t *testing.T) {
		o.Budget = *fullLimit
		o.Search, o.MaxSchedules = explore.Random, walks
		if orders := run(t, o).Orders; orders > hopeless*fullLimit.Seconds() {
			t.Logf("UNCHECKED: some %.2g orders", orders)
			return
		}
		o.MaxSchedules = 0
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
	busy(t, runtime.NumCPU())
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
	for _, s := range append(articles(), named("for-update-rr"), named("two-locks"), named("get-or-create"), named("tx-ser")) {
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
		c := exec.CommandContext(t.Context(), "sh", "-c", "while kill -0 $PPID; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Wait() }) // killed when the context ended, just before
	}
}

// How fast: the figures for the closing note. Nothing else should run beside it.
func TestSoakSpeed(t *testing.T) {
	for _, c := range []struct {
		what, strategy string
		iso            pgx.TxIsoLevel
		atLeast        float64 // schedules a second
	}{
		{"no waits", "check-then-act", "", 400}, {"a wait in most", "insert-first-open-tx", "", 200},
		{"COMMITs in two steps", "check-insert-capture", pgx.Serializable, 0},
	} {
		o := options(named(c.strategy))
		o.Isolation = c.iso
		o.Search, o.Sessions, o.MaxSchedules = explore.Full, 2, 2000
		o.Crashes = 1 // for more schedules than a moment's worth
		r := run(t, o)
		t.Logf("%s, %s: %.0f schedules/s", c.strategy, c.what, r.SchedulesPerSecond())
		if r.SchedulesPerSecond() < c.atLeast {
			t.Errorf("%s: %.0f schedules/s, want %.0f", c.strategy, r.SchedulesPerSecond(), c.atLeast)
		}
	}
	for _, c := range []struct {
		sessions, crashes int
		within            time.Duration
	}{{2, 0, time.Second}, {2, 1, 10 * time.Second}, {3, 0, 15 * time.Second}} {
		var all time.Duration
		for _, s := range articles() {
			o := options(s)
			o.Sessions, o.Crashes = c.sessions, c.crashes
			r := run(t, o)
			all += r.Duration
			t.Logf("%s, %d sessions, %d crashes: %d schedules + %d given up + %d probes in %s", s.Name, c.sessions, c.crashes, r.Schedules, r.Redundant, r.Probes, r.Duration.Round(time.Millisecond))
		}
		t.Logf("all, %d sessions, %d crashes: %s", c.sessions, c.crashes, all.Round(time.Millisecond))
		if all > c.within {
			t.Errorf("%d sessions, %d crashes: %s, want %s", c.sessions, c.crashes, all, c.within)
		}
	}
}
