package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestBlocks(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		values []float64
		length int
		want   []float64
	}{
		{nil, 3, nil},
		{[]float64{1, 2}, 3, nil},
		{[]float64{1, 2, 3}, 3, []float64{2}},
		{[]float64{9, 9, 1, 2, 3, 4, 5, 6}, 3, []float64{2, 5}}, // the beginning is left over
		{[]float64{nan, 2, 4}, 3, []float64{3}},
		{[]float64{nan, nan, nan, 1, 1, 1}, 3, []float64{1}},
	} {
		if got := blocks(c.values, c.length); !slices.Equal(got, c.want) {
			t.Errorf("%v by %d: %v, want %v", c.values, c.length, got, c.want)
		}
	}
	for _, c := range []struct {
		seconds int
		rho     float64
		want    int
	}{{0, 0, 3}, {10, 0, 3}, {30, 0, 3}, {39, 0, 3}, {40, 0, 4}, {600, 0, 60}, {30, 0.2, 3}, {30, 0.5, 8}, {60, 0.5, 8}, {60, 0.7, 17}, {600, 0.7, 60}, {20, 0.95, 20}} {
		if got := blockLength(c.seconds, c.rho); got != c.want {
			t.Errorf("%d seconds, correlated by %v: blocks of %d, want %d", c.seconds, c.rho, got, c.want)
		}
	}
}

func TestThinKeepsTheMean(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64Range(1, 100).Draw(t, "value")
		s := slices.Repeat([]float64{v}, rapid.IntRange(0, 2000).Draw(t, "n"))
		got := thin(s)
		if len(got) > mostAlike || len(got) > len(s) || len(s) >= mostAlike && len(got) < mostAlike/2 {
			t.Fatalf("%d of %d", len(got), len(s))
		}
		for _, g := range got {
			if math.Abs(g-v) > 1e-9*v {
				t.Fatalf("%v of %v", g, v)
			}
		}
	})
}

// second draws seconds of which each depends on the one before it, by so much.
func second(rho float64) func(r *rand.Rand, n int) []float64 {
	return func(r *rand.Rand, n int) []float64 {
		s := make([]float64, n)
		x := r.NormFloat64()
		for i := range s {
			x = rho*x + math.Sqrt(1-rho*rho)*r.NormFloat64()
			s[i] = 10 * math.Exp(0.3*x)
		}
		return s
	}
}

// How much seconds depend on each other is estimated as it is, and so is how much blocks do.
func TestDependenceIsEstimated(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 0))
	for _, rho := range []float64{0, 0.3, 0.6, 0.85} {
		mean, of := 0.0, 400
		for range of {
			mean += fromOneToTheNext([][]float64{second(rho)(r, 60), second(rho)(r, 60)}) / float64(of)
		}
		if math.Abs(mean-rho) > 0.08 {
			t.Errorf("correlated by %v: estimated %v", rho, mean)
		}
		if rho == 0 {
			continue
		}
		length := 6
		long := blocks(second(rho)(r, 60_000), length)
		if got, want := fromOneToTheNext([][]float64{long}), neighbours(length, rho); math.Abs(got-want) > 0.06 {
			t.Errorf("blocks of seconds correlated by %v: %v, by the formula %v", rho, got, want)
		}
	}
	nan := math.NaN()
	if got := fromOneToTheNext([][]float64{{1, 1, 1}, {nan, nan}, nil}); got != 0 {
		t.Errorf("of what never changes: %v", got)
	}
}

// Seconds that follow one another, taken as they are, make differences of noise; in blocks they do so about as rarely as they should, or it is
// said that there are too few of them.
func TestFalseAlarmsOfDependentSeconds(t *testing.T) {
	const n = 400
	for _, rho := range []float64{0, 0.3, 0.5, 0.7} {
		for _, seconds := range []int{30, 60, 120} {
			r := rand.New(rand.NewPCG(2, uint64(seconds)))
			alarms, told, naive := 0.0, 0.0, 0.0
			for range n {
				old, new := second(rho)(r, seconds), second(rho)(r, seconds)
				length := blockLength(seconds, fromOneToTheNext([][]float64{old, new}))
				if x, ok := compareSamples(blocks(old, length), blocks(new, length)); ok {
					told++
					if x.differs() {
						alarms++
					}
				}
				if seconds == 30 {
					if x, _ := compareSamples(old, new); x.differs() {
						naive++
					}
				}
			}
			t.Logf("correlated by %.2f, %d seconds: %.3f false alarms, nothing said in %.3f; of plain seconds %.3f", rho, seconds, alarms/n, 1-told/n, naive/n)
			if alarms/n > 0.05+3*math.Sqrt(0.05*0.95/n) {
				t.Errorf("correlated by %.2f, %d seconds: %.3f false alarms", rho, seconds, alarms/n)
			}
			if rho >= 0.5 && seconds == 30 && naive/n < 0.15 {
				t.Errorf("correlated by %.2f: seconds as they are do no harm (%.3f), so that this test proves nothing", rho, naive/n)
			}
		}
	}
}
