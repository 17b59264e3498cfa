package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"idemlab/results"
)

// measuredFields are the figures of a race that no acquirer had part in: the scenario's own measures stand where the
// acquirer's would.
func measuredFields(r results.Run) []field {
	return []field{
		{"went wrong", []string{wentWrong(r)}, moodOfWrong(r)},
		{"measured", measures(r), plain},
		{"answers", answers(r), plain},
		{"errors", []string{sqlstates(r)}, plain},
		{"in flight", []string{inFlight(r)}, plain},
		{"lock waits", lockWaits(r), plain},
		{"pool waits", []string{poolWaits(r)}, plain},
		{"latency", []string{latency(r)}, plain},
		{"control", []string{control(r)}, plain},
		{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)},
	}
}

// wrong counts the intents in which anything was found.
func wrong(r results.Run) int {
	intents := map[string]bool{}
	for _, a := range r.Anomalies {
		intents[a.Intent] = true
	}
	return len(intents)
}

func wentWrong(r results.Run) string {
	if r.Counts == nil {
		return absent
	}
	return fmt.Sprintf("%s of %s", thousands(int64(wrong(r))), count(r.Counts.Intents, "intent"))
}

func moodOfWrong(r results.Run) mood {
	switch {
	case r.Counts == nil:
		return plain
	case wrong(r) > 0:
		return bad
	}
	return good
}

// measures is a line for each: money where its name says so.
func measures(r results.Run) []string {
	if r.Counts == nil || len(r.Counts.Measures) == 0 {
		return []string{absent}
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(r.Counts.Measures)) {
		n := r.Counts.Measures[name]
		what, isMoney := strings.CutSuffix(name, "_cents")
		what = strings.ReplaceAll(what, "_", " ")
		if isMoney {
			lines = append(lines, what+" "+reais(n))
			continue
		}
		lines = append(lines, what+" "+thousands(n))
	}
	return lines
}
