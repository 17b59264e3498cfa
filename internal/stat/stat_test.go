package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within {
		t.Errorf("%s: %.7f, want %.7f", what, got, want)
	}
}

func TestKnownValues(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706205, 2: 4.302653, 4: 2.776445, 9: 2.262157, 49: 2.009575, 999: 1.962341, 1_000_000: 1.959966} {
		near(t, "Student's t", tQuantile(freedom), want, 1e-6)
	}
	for _, c := range []struct{ found, n, low, high float64 }{
		{1, 2, 0.012579, 0.987421}, {5, 10, 0.187086, 0.812914}, {1, 20, 0.001265, 0.248733}, {19, 20, 0.751267, 0.998735}, {30, 300, 0.068492, 0.139673},
	} {
		i := clopperPearson(c.found/c.n, c.n)
		near(t, "Clopper and Pearson, low", i.Low, c.low, 1e-6)
		near(t, "Clopper and Pearson, high", i.High, c.high, 1e-6)
	}
	for n, want := range map[int]float64{1: 0.95, 10: 0.258866, 20: 0.139108, 300: 0.009936} {
		near(t, "none found", noneBound(n), want, 1e-6)
	}
}

// The function is what it has a closed form for: one factor, both alike, and a sum of binomial terms.
func TestBetaHasItsClosedForms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.Float64Range(0, 1).Draw(t, "x")
		n := rapid.IntRange(1, 40).Draw(t, "n")
		k := rapid.IntRange(1, n).Draw(t, "k")
		b := float64(n)
		sum := 0.0
		for i := k; i <= n; i++ { // k hits or more in n trials
			ln, _ := math.Lgamma(b + 1)
			li, _ := math.Lgamma(float64(i) + 1)
			lr, _ := math.Lgamma(float64(n-i) + 1)
			sum += math.Exp(ln-li-lr) * math.Pow(x, float64(i)) * math.Pow(1-x, float64(n-i))
		}
		for what, off := range map[string]float64{
			"x^a":      beta(x, b, 1) - math.Pow(x, b),
			"1-(1-x)^": beta(x, 1, b) - (1 - math.Pow(1-x, b)),
			"binomial": beta(x, float64(k), float64(n-k+1)) - sum,
			"mirror":   beta(x, float64(k), b) - (1 - beta(1-x, b, float64(k))),
		} {
			if math.IsNaN(off) || math.Abs(off) > 1e-9 {
				t.Fatalf("%s at x=%v n=%d k=%d: off by %g", what, x, n, k, off)
			}
		}
		p := rapid.Float64Range(0.001, 0.999).Draw(t, "p")
		if got := beta(betaQuantile(p, float64(k), b), float64(k), b); math.Abs(got-p) > 1e-9 {
			t.Fatalf("the quantile of %v is that of %v", p, got)
		}
	})
}

// few are rounds of as many intents each.
func few(n int, found ...int) (rounds []Round) {
	for _, f := range found {
		rounds = append(rounds, Round{n, f})
	}
	return rounds
}

func TestShare(t *testing.T) {
	for name, c := range map[string]struct {
		rounds     []Round
		share      float64
		low, high  float64
		noInterval bool
	}{
		"nothing measured":           {nil, 0, 0, 0, true},
		"no round came to an intent": {few(0, 0, 0), 0, 0, 0, true},
		"none":                       {few(5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0), 0, 0, 0.258866, false},
		"none in one round":          {few(1000, 0), 0, 0, 0, true},
		"all in one round":           {few(1000, 1000), 1, 0, 0, true},
		"none in two":                {few(5, 0, 0), 0, 0, 0.776393, false},
		"all":                        {few(5, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5), 1, 0.741134, 1, false},
		"some in one round":          {few(5, 3), 0.6, 0, 0, true},
		"one of fifty says no more than none of fifty": {few(5, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0), 0.02, 0.000198, 0.258866, false},
		// No more spread than chance has: the 60 intents, as worth 60 × (2.0010/2.2622)² = 46.9 by so few rounds.
		"rounds that are alike": {few(6, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3), 0.5, 0.350583, 0.649417, false},
		// Each round all or none: not 50 but 9, as worth 9 × (2.0096/2.2622)² = 7.1.
		"rounds that are all or none": {few(5, 5, 5, 5, 5, 5, 0, 0, 0, 0, 0), 0.5, 0.140835, 0.859165, false},
		"an empty round is none":      {append(few(5, 5, 5, 5), Round{0, 0}), 1, 0.368403, 1, false},
	} {
		share, i, ok := Share(c.rounds)
		if ok == c.noInterval || share != c.share {
			t.Errorf("%s: share %v, interval %v %v", name, share, i, ok)
		}
		near(t, name+", low", i.Low, c.low, 1e-6)
		near(t, name+", high", i.High, c.high, 1e-6)
	}
}

// Whatever was seen, the interval is a piece of [0, 1] around the share; the order of the rounds says nothing; and what is seen of the
// opposite is the mirror.
func TestShareHasItsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rounds := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Round {
			n := rapid.IntRange(0, 30).Draw(t, "n")
			return Round{n, rapid.IntRange(0, n).Draw(t, "found")}
		}), 1, 12).Draw(t, "rounds")
		share, i, ok := Share(rounds)
		if ok && !(0 <= i.Low && i.Low <= share && share <= i.High && i.High <= 1) {
			t.Fatalf("%v: %v in %v", rounds, share, i)
		}
		var turned, opposite []Round
		for _, r := range rounds {
			turned = append([]Round{r}, turned...)
			opposite = append(opposite, Round{r.N, r.N - r.Found})
		}
		if s, j, ok2 := Share(turned); ok != ok2 || math.Abs(s-share) > 1e-12 || math.Abs(j.Low-i.Low) > 1e-9 || math.Abs(j.High-i.High) > 1e-9 {
			t.Fatalf("%v: turned round %v, %v", rounds, i, j)
		}
		if _, j, _ := Share(opposite); ok && (math.Abs(1-j.High-i.Low) > 1e-9 || math.Abs(1-j.Low-i.High) > 1e-9) {
			t.Fatalf("%v: %v, the opposite %v", rounds, i, j)
		}
		if _, j, _ := Share(append(rounds, rounds...)); ok && j.High-j.Low > i.High-i.Low+1e-9 {
			t.Fatalf("%v: twice as much makes %v of %v", rounds, j, i)
		}
	})
}

// What 95 % is worth: rounds are drawn whose intents are independent, or share their luck in part, or wholly, and the interval must hold
// the true share nearly as often as it says.
func TestIntervalHoldsTheTruth(t *testing.T) {
	const samples = 400
	r := rand.New(rand.NewPCG(1, 2))
	for _, together := range []float64{0, 0.3, 1} { // chance that an intent does as its round does
		for _, truth := range []float64{0.02, 0.5, 0.9} {
			for _, rounds := range []int{3, 10} {
				held := 0
				for range samples {
					_, i, ok := Share(draw(r, rounds, 5, truth, together))
					if ok && i.Low <= truth && truth <= i.High {
						held++
					}
				}
				if share := float64(held) / samples; share < 0.925 {
					t.Errorf("true share %v, %d rounds, together %v: held in %.1f%%", truth, rounds, together, 100*share)
				}
			}
		}
	}
}

func draw(r *rand.Rand, rounds, n int, truth, together float64) (drawn []Round) {
	for range rounds {
		luck, found := r.Float64() < truth, 0
		for range n {
			own := r.Float64() < truth
			if r.Float64() < together {
				own = luck
			}
			if own {
				found++
			}
		}
		drawn = append(drawn, Round{n, found})
	}
	return drawn
}
