package load

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idemlab/internal/acquirer"
)

func drawPlan(t *rapid.T) plan {
	repeat := rapid.Float64Range(0, 0.99).Draw(t, "repeat")
	return plan{
		Seed: rapid.Uint64().Draw(t, "seed"), RepeatShare: repeat, HotShare: rapid.Float64Range(0, 1-repeat).Draw(t, "hot"),
		HotKeys: rapid.Uint64Range(1, 20).Draw(t, "keys"), Near: rapid.Uint64Range(2, memory).Draw(t, "near"),
	}
}

// An attempt's errand depends on nothing but its number, is within the reach that its intent is kept for, and repeats only what an
// attempt before it began.
func TestErrandsAreWithinReach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		n := rapid.Uint64Range(0, 1<<30).Draw(t, "attempt")
		e := p.errand(n)
		if e != p.errand(n) {
			t.Fatal("two errands for one attempt")
		}
		switch {
		case e.last < n:
			t.Fatalf("attempt %d is for an intent that was settled after %d", n, e.last)
		case e.intent < hotNumbers && e.repeat && (e.intent >= n || n-e.intent > memory):
			t.Fatalf("attempt %d repeats intent %d", n, e.intent)
		case e.intent < hotNumbers && !e.repeat && e.intent != n:
			t.Fatalf("attempt %d begins intent %d", n, e.intent)
		case e.repeat && p.errand(e.intent).intent != e.intent:
			t.Fatalf("attempt %d repeats intent %d, which nobody began", n, e.intent)
		case e.intent < hotNumbers && e.last != e.intent+memory:
			t.Fatalf("intent %d may be tried until %d by one attempt, and until %d by another", e.intent, e.last, e.intent+memory)
		}
	})
}

func TestSharesAreWhatWasAskedFor(t *testing.T) {
	p := plan{Seed: 7, RepeatShare: 0.2, HotShare: 0.3, HotKeys: 3, Near: 16}
	const n = 50_000
	var repeats, hot, near int
	keys := map[uint64]bool{}
	for i := range uint64(n) {
		switch e := p.errand(i); {
		case e.intent >= hotNumbers:
			hot++
			keys[e.intent] = true
		case e.repeat:
			repeats++
			if i-e.intent <= 2*p.Near {
				near++
			}
		}
	}
	for what, c := range map[string]struct{ got, want float64 }{
		"repeats": {float64(repeats) / n, 0.2}, "hot": {float64(hot) / n, 0.3}, "near, of the repeats": {float64(near) / float64(repeats), 0.5},
		"hot keys": {float64(len(keys)), 3 * n / generation},
	} {
		if math.Abs(c.got-c.want) > c.want/20 {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
}

// The first repeats have little to choose from, and choose among all of it.
func TestEarlyRepeatsAreSpread(t *testing.T) {
	p := plan{Seed: 1, RepeatShare: 0.1, HotKeys: 1, Near: 16}
	first := map[uint64]int{}
	repeats := 0
	for i := range uint64(500) {
		if e := p.errand(i); e.repeat {
			repeats++
			first[e.intent]++
		}
	}
	if first[0] > repeats/8 {
		t.Errorf("%d of the first %d repeats are of the first intent", first[0], repeats)
	}
}

// Near is how many attempts may be under way: the clients of a closed loop, and the arrivals of an open one while an answer takes its time.
func TestNearIsWhatMayBeUnderWay(t *testing.T) {
	slow := acquirer.Options{Latency: acquirer.Fixed(time.Second)}
	for want, o := range map[uint64]Options{
		40: {Clients: 40}, 2: {Clients: 1}, 201: {Rate: 200, Acquirer: slow}, memory: {Rate: 100_000, Acquirer: slow},
	} {
		if got := newPlan(o).Near; got != want {
			t.Errorf("%+v: %d, want %d", o, got, want)
		}
	}
}
