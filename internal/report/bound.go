package report

import (
	"cmp"
	"fmt"
	"slices"

	"idemlab/internal/stat"
	"idemlab/results"
)

// bound says how large the share can be of which nothing was seen in n intents that raced. The rounds are the sample, as in a sweep: what
// happens within one is not independent. Which of a round's intents raced is not known, so no more rounds count than n intents fill.
// Under load and behind a queue there are no rounds, and there is no bound.
func bound(r results.Run, n int) string {
	var rounds []stat.Round
	for _, x := range slices.SortedFunc(slices.Values(r.Rounds), func(a, b results.Round) int { return cmp.Compare(b.Intents, a.Intents) }) {
		if n > 0 && x.Intents > 0 {
			rounds = append(rounds, stat.Round{N: min(x.Intents, n)})
			n -= x.Intents
		}
	}
	if len(rounds) == 0 {
		return ""
	}
	in := ", in " + count(len(rounds), "round")
	_, i, ok := stat.Share(rounds)
	if !ok {
		return in + ": no bound on the true share; more rounds give one (--rounds)"
	}
	return in + fmt.Sprintf(": the true share is below %.1f%% (%.0f%% confidence; rounds are counted)", 100*i.High, 100*stat.Confidence)
}
