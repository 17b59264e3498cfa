package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"idemlab/results"
)

func lockWaits(r results.Run) []string {
	if r.Waits == nil {
		return []string{absent}
	}
	l := r.Waits.Lock
	if l.Count == 0 {
		return []string{"none"}
	}
	lines := []string{fmt.Sprintf("%s, p50 %s, max %s", thousands(int64(l.Count)), ms(l.P50MS), ms(l.MaxMS))}
	if l.Client != nil {
		lines = append(lines, fmt.Sprintf("by the client: p50 %s", ms(l.Client.P50MS)))
	}
	return append(lines, blockedAt(r.Waits.Blocked)...)
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
