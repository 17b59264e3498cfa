// Package stat is the little statistics that results need: how sure a share is that was seen in a few rounds.
package stat

import "math"

// Confidence is that of every interval and bound here.
const Confidence = 0.95

// Round is one round of a measurement: so many intents, and in so many of them that which is counted.
type Round struct{ N, Found int }

// Interval is where the true share lies, with 95 % confidence. Where none or all of what was looked at was found, only one side is
// open, and that one has the whole confidence.
type Interval struct{ Low, High float64 }

// Share returns the share over all rounds and its interval; none where one round has to speak for all others: that none was found in it
// would leave anything below 95 %, and that some were nothing at all.
//
// What happens in one round is not independent: its intents met the same caches, the same neighbours, the same luck. So the rounds
// are the sample. Where none or all was found, each round counts once, as if its intents were one. Else it is the interval of Korn
// and Graubard for clustered samples: the exact one of Clopper and Pearson, for as many independent intents as would vary as much as
// the rounds did, at the most those that there were, and fewer the fewer rounds tell how much they vary. On the side of none, or of
// all, it is never narrower than if that had been found: to see something once must not make one surer that it is rare.
func Share(rounds []Round) (share float64, _ Interval, ok bool) {
	n, found, clusters := 0, 0, 0
	for _, r := range rounds {
		if r.N > 0 {
			n, found, clusters = n+r.N, found+r.Found, clusters+1
		}
	}
	if n == 0 {
		return 0, Interval{}, false
	}
	share = float64(found) / float64(n)
	bound := noneBound(clusters)
	switch {
	case clusters == 1:
		return share, Interval{}, false
	case found == 0:
		return 0, Interval{0, bound}, true
	case found == n:
		return 1, Interval{1 - bound, 1}, true
	}
	i := clopperPearson(share, effective(rounds, share, n, clusters))
	return share, Interval{min(i.Low, 1-bound), max(i.High, bound)}, true
}

// noneBound is the largest share that could be true with none found in n independent looks: the exact bound 1 - 0.05^(1/n), near 3/n.
func noneBound(n int) float64 { return 1 - math.Pow(1-Confidence, 1/float64(n)) }

// effective is the number of independent intents that would make the share as uncertain as the rounds do.
func effective(rounds []Round, share float64, n, clusters int) float64 {
	sum := 0.0
	for _, r := range rounds {
		off := float64(r.Found) - share*float64(r.N) // 0 for a round without intents
		sum += off * off
	}
	variance := sum * float64(clusters) / float64(clusters-1) / float64(n) / float64(n)
	independent := min(float64(n), share*(1-share)/variance) // n, too, where the rounds do not vary at all
	fewer := tQuantile(n-1) / tQuantile(clusters-1)          // so few rounds tell the variance only so well
	return fewer * fewer * independent
}

// clopperPearson is the exact interval of a share seen in n looks, which need not be a whole number.
func clopperPearson(share, n float64) Interval {
	found, tail := share*n, (1-Confidence)/2
	return Interval{betaQuantile(tail, found, n-found+1), betaQuantile(1-tail, found+1, n-found)}
}
