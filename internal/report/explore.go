package report

import (
	"fmt"
	"math"
	"strings"
	"time"

	"idemlab/results"
)

// exploreFields are the figures of a search through the orders of events.
func exploreFields(r results.Run) []field {
	e := r.Explore
	if e == nil {
		e = &results.Explore{Coverage: absent}
	}
	return []field{
		{"orders run", ordersRun(e), plain},
		{"of these bad", []string{thousands(int64(e.Violating))}, moodOfOrders(e)},
		{"ends", ends(e), plain},
		{"shortest", shortest(e), moodOfOrders(e)},
		{"steps that waited", []string{thousands(int64(e.BlockedSteps))}, plain},
		{"in a race", []string{likely(e)}, plain},
		{"control", []string{control(r)}, plain},
		{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)},
	}
}

// ordersRun sets no number of random walks against how many orders there are: the same order comes up again and again.
func ordersRun(e *results.Explore) []string {
	walks := thousands(int64(e.Schedules))
	if e.Search == "random" {
		walks += ", at random"
	}
	lines := []string{walks, e.Coverage}
	if e.OrdersEstimate != nil {
		lines = append(lines, "there are about "+thousands(int64(rough(*e.OrdersEstimate)))+", by estimate")
	}
	if e.Divergences > 0 {
		lines = append(lines, fmt.Sprintf("%d diverged, and were run again", e.Divergences))
	}
	return lines
}

// rough is a number to two digits: an estimate from random walks does not know more.
func rough(n float64) float64 {
	unit := math.Pow(10, max(0, math.Floor(math.Log10(n))-1))
	return math.Round(n/unit) * unit
}

func moodOfOrders(e *results.Explore) mood {
	switch {
	case e.Violating > 0:
		return bad
	case e.Coverage == "exhaustive":
		return good
	}
	return unsure
}

// mostEnds bounds the ways to end that a table shows; the document has them all.
const mostEnds = 6

func ends(e *results.Explore) []string {
	var lines []string
	for i, o := range e.Outcomes {
		if i == mostEnds {
			return append(lines, fmt.Sprintf("… %d ways in all", len(e.Outcomes)))
		}
		left := strings.Join(o.Rows, ", ")
		switch {
		case o.Captures != nil:
			left = count(*o.Captures, "capture")
		case left == "":
			left = "nothing left"
		}
		lines = append(lines, fmt.Sprintf("%s × %s: %s", thousands(int64(o.Schedules)), left, strings.Join(o.Answers, ", ")))
	}
	if len(lines) == 0 {
		return []string{absent}
	}
	return lines
}

func shortest(e *results.Explore) []string {
	v := e.ShortestViolation
	if v == nil {
		return []string{"none"}
	}
	return []string{v.Anomaly, v.Short}
}

// likely puts beside "possible" how often it happened when attempts ran free.
func likely(e *results.Explore) string {
	switch {
	case e.Likely != nil && e.Likely.DoubleCharged != nil:
		return fmt.Sprintf("%d of %d double-charged", *e.Likely.DoubleCharged, e.Likely.Intents)
	case e.Likely != nil && e.Likely.Violated != nil:
		return fmt.Sprintf("%d of %d went wrong", *e.Likely.Violated, e.Likely.Intents)
	}
	return absent
}

// pictures draws the order that the document holds of each run, and says how to run it again.
func pictures(b *strings.Builder, runs []results.Run, s Style) error {
	for _, r := range runs {
		if r.Explore == nil || r.Explore.Trace == nil {
			continue
		}
		t := *r.Explore.Trace
		fmt.Fprintf(b, "\n%s: %s\n\n", r.Strategy, story(r))
		if err := Lanes(b, t, s); err != nil {
			return err
		}
		if !strings.HasPrefix(r.Reason, "diverged") { // half an order is not the one that was asked for
			fmt.Fprintf(b, "\nagain: %s\n", Again(r))
		}
	}
	return nil
}

// story is the picture's title.
func story(r results.Run) string {
	if v := r.Explore.ShortestViolation; v != nil && r.Explore.Search != "replay" {
		return fmt.Sprintf("%s, the shortest order: %s", strings.ReplaceAll(v.Anomaly, "_", " "), v.Detail)
	}
	return "the order " + r.Explore.Trace.Short
}

// Again is the command that runs a run's one order again, or its search, where that came to none.
func Again(r results.Run) string {
	e := r.Explore
	cmd := fmt.Sprintf("idemlab explore --strategy=%s --sessions %d", r.Strategy, e.Sessions)
	if e.AttemptsPerSession != 2 {
		cmd += fmt.Sprintf(" --attempts-per-session %d", e.AttemptsPerSession)
	}
	if r.Server.Isolation != "read committed" {
		cmd += " --isolation " + strings.ReplaceAll(r.Server.Isolation, " ", "-")
	}
	if !e.Split {
		cmd += " --no-split"
	}
	if e.Instances > 1 {
		cmd += fmt.Sprintf(" --instances %d", e.Instances)
	}
	if e.LeaseMS > 0 {
		cmd += " --lease " + strings.ReplaceAll(time.Duration(math.Round(e.LeaseMS*1e6)).String(), "µ", "u")
	}
	for _, job := range e.Beside {
		cmd += " --beside " + job
	}
	if e.Schema != "" {
		cmd += fmt.Sprintf(" --schema '%s'", e.Schema)
	}
	if e.Trace != nil {
		return cmd + fmt.Sprintf(" --schedule '%s'", e.Trace.Schedule)
	}
	cmd += fmt.Sprintf(" --crashes %d --lost-replies %d --search %s", e.Crashes, e.LostReplies, e.Search)
	if e.Hard {
		cmd += " --hard"
	}
	return cmd
}
