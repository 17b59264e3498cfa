package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"idemlab/results"
)

// lockWaits counts what waited for a key, a row or a lock taken on purpose. What waited for a lock of another kind is named beside it:
// "1" alone would deny the sixteen that stood before a table that somebody had locked.
func lockWaits(r results.Run) []string {
	if r.Waits == nil {
		return []string{absent}
	}
	l, others := r.Waits.Lock, otherLocks(r)
	if l.Count == 0 {
		if len(others) == 0 {
			return []string{"none"}
		}
		return append([]string{"none for a key"}, others...)
	}
	lines := []string{fmt.Sprintf("%s, p50 %s, max %s", thousands(int64(l.Count)), ms(l.P50MS), ms(l.MaxMS))}
	if l.Client != nil {
		lines = append(lines, fmt.Sprintf("by the client: p50 %s", ms(l.Client.P50MS)))
	}
	return append(append(lines, blockedAt(r.Waits.Blocked)...), others...)
}

// otherLocks names the locks that are waited for without anybody wanting a key: a table that somebody has locked, above all. They are
// sampled and not timed. A table that grows (Lock/extend) is nobody in the way.
func otherLocks(r results.Run) []string {
	if r.Waits == nil {
		return nil
	}
	var lines []string
	for _, e := range r.Waits.Events {
		switch e.Event {
		case "Lock/transactionid", "Lock/tuple", "Lock/advisory", "Lock/spectoken", "Lock/extend":
			continue
		}
		if strings.HasPrefix(e.Event, "Lock/") {
			lines = append(lines, fmt.Sprintf("not counted: up to %d at once at %s", e.MaxWaiters, e.Event))
		}
	}
	return lines
}

// blockedAt names where statements waited: the step, and the event as PostgreSQL calls it.
func blockedAt(blocked []results.Blocked) []string {
	n := map[string]int{}
	for _, b := range blocked {
		n["at "+b.Step+": "+b.Event]++
	}
	return slices.Sorted(maps.Keys(n))
}

func poolWaits(r results.Run) string {
	if r.Waits == nil {
		return absent
	}
	p := r.Waits.Pool
	if p.Count == 0 {
		return "none"
	}
	return fmt.Sprintf("%s, p50 %s, p99 %s", thousands(int64(p.Count)), ms(p.P50MS), ms(p.P99MS))
}

func latency(r results.Run) string {
	if r.Latency == nil || r.Latency.N == 0 {
		return absent
	}
	return fmt.Sprintf("p50 %s, p99 %s", ms(r.Latency.P50MS), ms(r.Latency.P99MS))
}

func sqlstates(r results.Run) string {
	if len(r.SQLStates) == 0 {
		return "none"
	}
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(r.SQLStates)) {
		parts = append(parts, fmt.Sprintf("%s × %s", thousands(int64(r.SQLStates[code])), code))
	}
	return strings.Join(parts, ", ")
}

// ms prints milliseconds with three digits, as seconds where there are many.
func ms(v *float64) string {
	switch {
	case v == nil:
		return absent
	case *v >= 10_000:
		return fmt.Sprintf("%.1f s", *v/1000)
	case *v >= 100:
		return fmt.Sprintf("%.0f ms", *v)
	case *v >= 10:
		return fmt.Sprintf("%.1f ms", *v)
	}
	return fmt.Sprintf("%.2f ms", *v)
}
