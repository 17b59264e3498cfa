package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Tables of Mann and Whitney's test (two-sided, 5 %) print the largest U that is refused; the rank is one more.
func TestCriticalRanksAreThoseOfTheTables(t *testing.T) {
	for _, c := range []struct{ n, m, u int }{
		{3, 3, -1}, {3, 4, -1}, {4, 4, 0}, {3, 5, 0}, {5, 5, 2}, {5, 8, 6}, {8, 8, 13}, {10, 10, 23}, {10, 20, 55}, {20, 20, 127},
		{1, 38, -1}, {1, 39, 0}, {2, 8, 0}, {2, 7, -1},
	} {
		if got := critical(c.n, c.m) - 1; got != c.u || critical(c.m, c.n)-1 != c.u {
			t.Errorf("%d and %d: %d, want %d", c.n, c.m, got, c.u)
		}
		if enough(c.n, c.m) != (c.u >= 0) {
			t.Errorf("%d and %d are enough: %v", c.n, c.m, enough(c.n, c.m))
		}
	}
	if critical(0, 5) != 0 || enough(0, 0) {
		t.Error("nothing is enough")
	}
	for _, n := range []int{30, 60, mostAlike} { // where the normal distribution is near
		mean, sd := float64(n*n)/2, math.Sqrt(float64(n*n*(2*n+1))/12)
		if got, want := float64(critical(n, n)), mean-1.95996*sd; math.Abs(got-want) > 2 {
			t.Errorf("%d and %d: %v, by the normal distribution %v", n, n, got, want)
		}
	}
}

// The distribution is that of all orders, counted one by one.
func TestOrdersAreCountedOneByOne(t *testing.T) {
	for n := 1; n <= 5; n++ {
		for m := 1; m <= 5; m++ {
			want := make([]float64, n*m+1)
			for mask := range 1 << (n + m) { // who of the two stands at each place
				ones, u := 0, 0
				for place := range n + m {
					if mask>>place&1 == 1 {
						ones++
					} else {
						u += ones
					}
				}
				if ones == n {
					want[u]++
				}
			}
			if got := orders(n, m); !slices.Equal(got, want[:n*m/2+1]) {
				t.Errorf("%d and %d: %v, want %v", n, m, got, want)
			}
		}
	}
}

func samplesOf(t *rapid.T, name string, least, most int) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(1, 1000), least, most).Draw(t, name)
}

func TestIdenticalSamplesDoNotDiffer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := samplesOf(t, "samples", 1, 40)
		if rapid.Bool().Draw(t, "counts") { // ties, zeros among them
			for i := range s {
				s[i] = math.Floor(s[i] / 400)
			}
		}
		if r, ok := compareSamples(s, s); ok && (r.differs() || r.low > 1 || r.high < 1) {
			t.Fatalf("%v against itself: %+v", s, r)
		}
	})
}

func TestTwiceAsMuchIsFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old := rapid.SliceOfN(rapid.Float64Range(100, 190), 30, 30).Draw(t, "old")
		new := rapid.SliceOfN(rapid.Float64Range(200, 380), 30, 30).Draw(t, "new")
		r, ok := compareSamples(old, new)
		if !ok || r.low <= 1 {
			t.Fatalf("%+v", r)
		}
		if back, _ := compareSamples(new, old); back.high >= 1 {
			t.Fatalf("the other way round: %+v", back)
		}
	})
}

func TestTooFewSamplesSayNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		old, new := samplesOf(t, "old", 0, 3), samplesOf(t, "new", 0, 4)
		if r, ok := compareSamples(old, new); ok {
			t.Fatalf("%d and %d samples: %+v", len(old), len(new), r)
		}
	})
}

// The interval holds the estimate; units do not matter; the other way round it is the other way round.
func TestRatiosAreRatios(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b)) }
	rapid.Check(t, func(t *rapid.T) {
		old, new := samplesOf(t, "old", 4, 20), samplesOf(t, "new", 4, 20)
		unit := rapid.Float64Range(0.001, 1000).Draw(t, "unit")
		r, ok := compareSamples(old, new)
		if !ok || r.low > r.estimate || r.estimate > r.high {
			t.Fatalf("%+v, %v", r, ok)
		}
		scale := func(s []float64) (scaled []float64) {
			for _, v := range s {
				scaled = append(scaled, v*unit)
			}
			return scaled
		}
		if s, _ := compareSamples(scale(old), scale(new)); !near(s.estimate, r.estimate) || !near(s.low, r.low) || !near(s.high, r.high) {
			t.Fatalf("in another unit %+v, not %+v", s, r)
		}
		if s, _ := compareSamples(old, scale(new)); !near(s.estimate, r.estimate*unit) || !near(s.low, r.low*unit) {
			t.Fatalf("times %v: %+v, of %+v", unit, s, r)
		}
		if b, _ := compareSamples(new, old); !near(b.estimate, 1/r.estimate) || !near(b.low, 1/r.high) || !near(b.high, 1/r.low) {
			t.Fatalf("the other way round %+v, of %+v", b, r)
		}
	})
}

// Counts that were zero have no ratio, and are compared nevertheless.
func TestZeros(t *testing.T) {
	zeros, ones := make([]float64, 10), []float64{1, 1, 1, 2, 3, 1, 1, 2, 1, 1}
	if r, ok := compareSamples(zeros, zeros); !ok || r != (ratio{1, 1, 1}) {
		t.Errorf("zeros: %+v", r)
	}
	if r, ok := compareSamples(zeros, ones); !ok || !math.IsInf(r.low, 1) || !r.differs() {
		t.Errorf("more than zero: %+v", r)
	}
	if r, ok := compareSamples(ones, zeros); !ok || r.high != 0 || !r.differs() {
		t.Errorf("zero: %+v", r)
	}
	half := slices.Concat(zeros[:5], ones[:5])
	if r, ok := compareSamples(half, half); !ok || r.differs() || math.IsNaN(r.estimate) {
		t.Errorf("half of them zero: %+v", r)
	}
}

// trials draws pairs of samples of one distribution, the new ones larger by a factor, and returns how often the interval left out the truth.
func trials(n int, seed uint64, factor float64, draw func(r *rand.Rand, n int) []float64, samples int) (above, below float64) {
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		old, new := draw(r, samples), draw(r, samples)
		for i := range new {
			new[i] *= factor
		}
		if x, ok := compareSamples(old, new); ok && x.low > factor {
			above++
		} else if ok && x.high < factor {
			below++
		}
	}
	return above / float64(n), below / float64(n)
}

func independent(r *rand.Rand, n int) []float64 {
	s := make([]float64, n)
	for i := range s {
		s[i] = 10 * math.Exp(0.3*r.NormFloat64()) // skewed, as latencies are
	}
	return s
}

// Of samples of the same, at most one in twenty looks different; and where they do differ, by whatever factor, the interval misses the truth
// no more often.
func TestFalseAlarms(t *testing.T) {
	const n = 1500
	for _, samples := range []int{4, 10, 30} {
		for _, factor := range []float64{1, 1.3} {
			above, below := trials(n, 1, factor, independent, samples)
			t.Logf("%d samples, times %.1f: %.3f above, %.3f below", samples, factor, above, below)
			if above+below > 0.05+3*math.Sqrt(0.05*0.95/n) {
				t.Errorf("%d samples, times %.1f: %.3f of the intervals miss", samples, factor, above+below)
			}
		}
	}
}
