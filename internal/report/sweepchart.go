package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"idemlab/results"
)

// chart is one thing that a map can show of the cells.
type chart struct {
	name, title string
	size        func(spot) (float64, bool) // false: there is nothing to show
	text        func(float64) string
	share       bool // it is the share: with its interval and its signs, darkest at 1 instead of at the largest there is
}

// Maps are the names of the maps that a sweep can be drawn as.
func Maps() []string {
	var names []string
	for _, c := range charts(results.Sweep{}) {
		names = append(names, c.name)
	}
	return names
}

func charts(w results.Sweep) []chart {
	title := fmt.Sprintf("share of the intents %s, and where the true share lies (%.0f%% confidence)", foundWord(w), 100*w.Confidence)
	if w.Measure == results.IntentsViolated {
		title = strings.Replace(title, foundWord(w), "that "+foundWord(w), 1)
	}
	perSecond := func(v float64) string { return thousands(int64(math.Round(v))) + "/s" }
	tenths := func(v float64) string { return fmt.Sprintf("%.1f", v) }
	return []chart{
		{"share", title, func(c spot) (float64, bool) { return c.Share, true }, percent, true},
		{"duplicates", "captures too many for each intent, on average", duplicates, tenths, false},
		{"rate", "attempts per second while they raced", rate, perSecond, false},
		{"lock-waits", "time that an attempt waited for locks, on average", lockWait, waited, false},
		{"pool-waits", "time that an attempt waited for a connection, on average", poolWait, waited, false},
	}
}

// chartOf is the chart of that name, or the first.
func chartOf(name string, w results.Sweep) chart {
	all := charts(w)
	return all[max(0, slices.IndexFunc(all, func(c chart) bool { return c.name == name }))]
}

func duplicates(c spot) (float64, bool) {
	n := c.run.Counts
	if n == nil || n.AcquirerCounts == nil || n.Intents == 0 {
		return 0, false
	}
	return float64(n.DuplicateCaptures) / float64(n.Intents), true
}

func rate(c spot) (float64, bool) {
	if c.PerSecond == nil {
		return 0, false
	}
	return *c.PerSecond, true
}

func lockWait(c spot) (float64, bool) {
	return perAttempt(c, func(w results.Waits) float64 { return w.Lock.TotalMS })
}

func poolWait(c spot) (float64, bool) {
	return perAttempt(c, func(w results.Waits) float64 { return w.Pool.TotalMS })
}

func perAttempt(c spot, total func(results.Waits) float64) (float64, bool) {
	if c.run.Waits == nil || c.run.Counts == nil || c.run.Counts.Attempts == 0 {
		return 0, false
	}
	return total(*c.run.Waits) / float64(c.run.Counts.Attempts), true
}

func waited(v float64) string {
	if v == 0 {
		return "none"
	}
	return ms(&v)
}

// lines are a cell's words.
func (ch chart) lines(c spot, s Style) []string {
	v, ok := ch.size(c)
	switch {
	case !ok:
		return []string{s.dash()}
	case ch.share:
		return []string{ch.text(v) + sign(c), between(c, s)}
	}
	return []string{ch.text(v)}
}

// most is the size of the darkest cell.
func (ch chart) most(g ground) (most float64) {
	if ch.share {
		return 1
	}
	for _, c := range g.spots {
		if v, ok := ch.size(c); ok {
			most = max(most, v)
		}
	}
	return most
}

// mood colours shares. That an attempt is fast, or waits, is neither good nor bad.
func (ch chart) mood(c spot) mood {
	if ch.share {
		return moodOfShare(c)
	}
	return plain
}
