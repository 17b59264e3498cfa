package compare

import (
	"cmp"
	"math"
	"slices"
)

// alpha is the chance of a difference where there is none, both directions together: intervals are of 95 %.
const alpha = 0.05

// ratio is how much larger new samples are than old ones, with an interval.
type ratio struct {
	estimate, low, high float64 // high and estimate may be +Inf, where old samples are zero
}

// differs says whether the interval leaves out "the same".
func (r ratio) differs() bool { return r.low > 1 || r.high < 1 }

// compareSamples estimates new/old as the median of all pairs (Hodges and Lehmann) and turns Mann and Whitney's test round for the interval:
// it holds the ratios that the test does not refuse. So the interval leaves out 1 exactly where the test sees a difference, and
// neither asks how the samples are distributed. ok is false where there are too few for the test to refuse anything.
//
// Ties make the interval wider than it need be. Samples must not be negative; of two zeros the ratio is 1.
//
// Benchstat's package has the test, and medians with intervals of their own, but none for the ratio, which is what is reported here.
func compareSamples(old, new []float64) (r ratio, ok bool) {
	cut := critical(len(old), len(new))
	if cut == 0 {
		return ratio{}, false
	}
	pairs := make([]float64, 0, len(old)*len(new))
	for _, n := range new {
		for _, o := range old {
			pairs = append(pairs, over(n, o))
		}
	}
	slices.Sort(pairs)
	last := len(pairs) - 1
	return ratio{between(pairs[last/2], pairs[(last+1)/2]), pairs[cut-1], pairs[last-cut+1]}, true
}

func over(n, o float64) float64 {
	if n == o {
		return 1
	}
	return n / o // +Inf where o is 0
}

// between is the middle of two ratios, on the scale on which twice and half are equally far from the same.
func between(a, b float64) float64 {
	if a == b || math.IsInf(b, 1) {
		return b
	}
	return math.Sqrt(a * b)
}

// critical is the rank, among all pairs from either end, at which the interval ends: the largest c for which fewer than c pairs
// out of order happen by chance alone with at most half of alpha. 0 where there is none.
func critical(n, m int) int {
	if n == 0 || m == 0 {
		return 0
	}
	ways := orders(n, m)
	all := math.Round(binomial(n+m, n))
	sum := 0.0
	for u, w := range ways {
		if sum += w; sum/all > alpha/2 {
			return u
		}
	}
	return len(ways) // of so few orders, all are as likely: not reached with alpha below 1
}

// enough says whether so many samples let the test refuse anything.
func enough(n, m int) bool { return critical(n, m) > 0 }

// orders counts, for each u up to half of all pairs, the orders of n and m samples with u pairs out of order: the
// coefficients of the Gaussian binomial, built factor by factor. Whatever belongs to a u comes of smaller ones only, so
// that the few that lie at the end, which decide, are exact.
func orders(n, m int) []float64 {
	ways := make([]float64, n*m/2+1)
	ways[0] = 1
	for i := 1; i <= n; i++ {
		for u := len(ways) - 1; u >= m+i; u-- { // times 1 - q^(m+i)
			ways[u] -= ways[u-m-i]
		}
		for u := i; u < len(ways); u++ { // over 1 - q^i
			ways[u] += ways[u-i]
		}
	}
	return ways
}

func binomial(n, k int) float64 {
	b := 1.0
	for i := 1; i <= k; i++ {
		b = b * float64(n-k+i) / float64(i)
	}
	return b
}

// median is of a copy; NaN of nothing.
func median(samples []float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	s := slices.SortedFunc(slices.Values(samples), cmp.Compare[float64])
	last := len(s) - 1
	return (s[last/2] + s[(last+1)/2]) / 2
}
