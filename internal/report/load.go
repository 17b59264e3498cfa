package report

import (
	"fmt"
	"strings"

	"idemlab/results"
)

// loadFields are the figures of a run under load. The counts are of the whole run, the times of what came after the warm-up.
func loadFields(r results.Run) []field {
	l := *r.Load
	return []field{
		{"double-charged", []string{doubleCharged(r)}, moodOfCount(r)},
		{"acquirer told", []string{told(r)}, plain},
		{"rows", []string{rows(r)}, plain},
		{"owed", []string{money(r, func(c results.Counts) int64 { return c.OwedCents })}, plain},
		{"taken", []string{money(r, func(c results.Counts) int64 { return c.CapturedCents })}, moodOfCount(r)},
		{"answers", answers(r), plain},
		{"errors", []string{sqlstates(r)}, plain},
		{"repeats", repeated(l), plain},
		{"attempts", []string{throughput(l)}, plain},
		{"response time", percentilesOf(l.Response), plain},
		{"service time", percentilesOf(l.Service), plain},
		{"lock waits", lockWaits(r), plain},
		{"pool waits", []string{poolWaits(r)}, plain},
		{"connections", connections(l.Connections), plain},
		{"this tool", loadClient(l.Client), plain},
		{"control", []string{control(r)}, plain},
		{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)},
	}
}

func throughput(l results.Load) string {
	s := fmt.Sprintf("%s, %s a second", thousands(int64(l.Attempts)), perSecond(l.PerSecond))
	if l.Dropped > 0 {
		s += fmt.Sprintf("; %s dropped", thousands(int64(l.Dropped)))
	}
	return s
}

func perSecond(v float64) string {
	if v >= 100 {
		return thousands(int64(v + 0.5))
	}
	return fmt.Sprintf("%.1f", v)
}

func repeated(l results.Load) []string {
	lines := []string{
		fmt.Sprintf("%s of %s", thousands(int64(l.Repeats)), count(l.IntentsRepeated, "intent")),
		fmt.Sprintf("%s tried by two at once", thousands(int64(l.IntentsOverlapped))),
	}
	if l.IntentsTurnedAway > 0 {
		lines = append(lines, fmt.Sprintf("%s turned away (40001)", thousands(int64(l.IntentsTurnedAway))))
	}
	if l.IntentsUnfinished > 0 {
		lines = append(lines, fmt.Sprintf("%s without an end", thousands(int64(l.IntentsUnfinished))))
	}
	return lines
}

func percentilesOf(l results.LoadLatency) []string {
	return []string{
		fmt.Sprintf("p50 %s, p90 %s", ms(l.P50MS), ms(l.P90MS)),
		fmt.Sprintf("p99 %s, p99.9 %s", ms(l.P99MS), ms(l.P999MS)),
		fmt.Sprintf("max %s", ms(l.MaxMS)),
	}
}

func connections(c results.Connections) []string {
	lines := []string{"held " + secondsText(c.HeldSeconds)}
	if c.SecondsPerCapture != nil {
		each := *c.SecondsPerCapture * 1000
		lines[0] += ", " + ms(&each) + " a capture"
	}
	return append(lines, "idle in transaction "+secondsText(c.IdleInTxSeconds))
}

func secondsText(s float64) string { return fmt.Sprintf("%.1f s", s) }

func loadClient(c results.LoadClient) []string {
	line := fmt.Sprintf("GOMAXPROCS %d", c.GOMAXPROCS)
	if c.CPUUSPerAttempt != nil {
		line = fmt.Sprintf("%.0f µs CPU an attempt, %s", *c.CPUUSPerAttempt, line)
	}
	lines := []string{line}
	if c.BytesPerInFlight != nil {
		lines = append(lines, fmt.Sprintf("%.1f KiB for each in flight", *c.BytesPerInFlight/1024))
	}
	return lines
}

// loadHeading is what was asked for.
func loadHeading(b *strings.Builder, r results.Run, c results.LoadSettings) {
	fmt.Fprintf(b, "%s, %s: ", r.Engine, r.Scenario)
	if c.Loop == "open" {
		fmt.Fprintf(b, "an open loop of %s arrivals a second (%s)", perSecond(c.Rate), c.Arrivals)
	} else {
		fmt.Fprintf(b, "a closed loop of %s", count(c.Clients, "client"))
	}
	fmt.Fprintf(b, ", %s after %s of warm-up", short(c.DurationMS), short(c.WarmupMS))
	if c.Instances > 1 {
		fmt.Fprintf(b, "; %d instances, pool %d each", c.Instances, c.Pool)
	} else {
		fmt.Fprintf(b, "; pool %d", c.Pool)
	}
	if c.AcquirerSettings != nil {
		fmt.Fprintf(b, "; the acquirer takes %s", c.AcquirerLatency)
	}
	fmt.Fprintf(b, "; %.3g%% repeats", 100*c.RepeatShare)
	if c.HotShare > 0 {
		fmt.Fprintf(b, ", %.3g%% aim at %s", 100*c.HotShare, count(c.HotKeys, "hot key"))
	}
	if c.StallMS > 0 {
		fmt.Fprintf(b, "; the table was locked for %s", short(c.StallMS))
	}
	fmt.Fprintf(b, "; seed %d\n", r.Seed)
}

// short is a number of milliseconds as it would be typed.
func short(v float64) string {
	if v >= 1000 {
		return fmt.Sprintf("%gs", v/1000)
	}
	return fmt.Sprintf("%gms", v)
}

// mostBlocking is how many ways of standing in each other's way a report names for one run.
const mostBlocking = 5

// autopsy says who waited for whom, the longest first.
func autopsy(b *strings.Builder, runs []results.Run) {
	for _, r := range runs {
		if r.Load == nil || len(r.Load.Blocking)+len(otherLocks(r)) == 0 {
			continue
		}
		fmt.Fprintf(b, "\nwho waited for whom, %s:\n", r.Strategy)
		for i, w := range r.Load.Blocking {
			if i == mostBlocking {
				fmt.Fprintf(b, "  … and %s more\n", count(len(r.Load.Blocking)-i, "way"))
				break
			}
			fmt.Fprintf(b, "  %8s  %s at %s, for one %s\n", secondsText(w.Seconds), orUnknown(w.Waiter), w.Event, blocker(w))
		}
		for _, o := range otherLocks(r) {
			fmt.Fprintf(b, "  %s\n", o)
		}
	}
}

func blocker(w results.Blocking) string {
	switch {
	case w.State == "":
		return "that had just gone on"
	case strings.HasPrefix(w.State, "idle in transaction"):
		return fmt.Sprintf("idle in transaction after %s", orUnknown(w.Blocker))
	}
	return fmt.Sprintf("busy with %s", orUnknown(w.Blocker))
}

func orUnknown(step string) string {
	if step == "" {
		return "a statement without a name"
	}
	return step
}
