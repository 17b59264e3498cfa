package report

import (
	"fmt"
	"math"

	"idemlab/results"
)

// foundWord says in words what the share is of, as the table of a race does.
func foundWord(w results.Sweep) string {
	if w.Measure == results.IntentsViolated {
		return "went wrong"
	}
	return "double-charged"
}

// The signs beside a share.
const (
	unsureSign = "?" // undecided
	otherSign  = "!" // none found, and violated by something else
	cutSign    = "~" // not finished
)

func sign(c spot) string {
	switch {
	case c.run.Status != results.Complete:
		return cutSign
	case c.run.Verdict == results.Inconclusive:
		return unsureSign
	case c.run.Verdict == results.Violated && c.Found == 0:
		return otherSign
	}
	return ""
}

func moodOfShare(c spot) mood {
	switch {
	case c.Share >= 0.5, sign(c) == otherSign:
		return bad
	case c.Share > 0, sign(c) != "":
		return unsure
	}
	return good
}

// between is the interval, with one side where none or all was found.
func between(c spot, s Style) string {
	i := c.Interval
	switch {
	case i == nil && c.run.Verdict == results.Inconclusive:
		return "undecided"
	case i == nil:
		return "one round"
	case c.Found == 0:
		return "< " + percent(i.High)
	case c.Found == c.Intents:
		return "> " + percent(i.Low)
	}
	return fmt.Sprintf("%.0f%s%.0f%%", 100*i.Low, s.dash(), 100*i.High)
}

// percent rounds, but calls nothing none, or all, that is not.
func percent(share float64) string {
	switch p := math.Round(100 * share); {
	case share > 0 && p == 0:
		return "<1%"
	case share < 1 && p == 100:
		return ">99%"
	default:
		return fmt.Sprintf("%.0f%%", p)
	}
}

// dash is what stands where there is nothing, and between two numbers.
func (s Style) dash() string {
	if s.ASCII {
		return "-"
	}
	return absent
}
