package report

import (
	"fmt"
	"strings"

	"idemlab/results"
	"idemlab/scenarios"
)

// field is one figure of a run: a label and one line or more. Every run has the same fields in the same order.
type field struct {
	label  string
	values []string
	mood   mood
}

type mood int

const (
	plain mood = iota
	good
	bad
	unsure
)

// paint colours text by the field's mood. The words say the same without it.
func (f field) paint(text string, s Style) string {
	code := map[mood]string{good: "32", bad: "31", unsure: "33"}[f.mood]
	if !s.Color || code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

const absent = "–"

func fields(r results.Run) []field {
	if r.Engine == "explore" {
		return exploreFields(r)
	}
	if r.Storage != nil {
		return storageFields(r)
	}
	if r.Repeats != nil {
		return repeatsFields(r)
	}
	if r.Load != nil {
		return loadFields(r)
	}
	if r.Consume != nil {
		return consumeFields(r)
	}
	if r.Retry != nil {
		return retryFields(r)
	}
	if r.Neighbours != nil {
		return neighboursFields(r)
	}
	if r.Stored != nil {
		return storedFields(r)
	}
	if r.Expiry != nil {
		return expiryFields(r)
	}
	if r.Recovery != nil {
		return recoveryFields(r)
	}
	if !acquires(r) {
		return measuredFields(r)
	}
	return append(effectFields(r), []field{
		{"answers", answers(r), plain},
		{"errors", []string{sqlstates(r)}, plain},
		{"follow-ups", followups(r), plain},
		{"in flight", []string{inFlight(r)}, plain},
		{"lock waits", lockWaits(r), plain},
		{"pool waits", []string{poolWaits(r)}, plain},
		{"latency", []string{latency(r)}, plain},
		{"control", []string{control(r)}, plain},
		{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)},
	}...)
}

// acquires says whether the run was about money that moves at the acquirer.
func acquires(r results.Run) bool { return r.Settings == nil || r.Settings.AcquirerSettings != nil }

func moodOf(r results.Run) mood {
	return map[results.Verdict]mood{results.Held: good, results.Violated: bad, results.Inconclusive: unsure}[r.Verdict]
}

func moodOfCount(r results.Run) mood {
	switch {
	case r.Counts == nil || r.Counts.AcquirerCounts == nil:
		return plain
	case r.Counts.DuplicateCaptures > 0:
		return bad
	}
	return good
}

func ending(r results.Run) string {
	switch r.Status {
	case results.Aborted:
		return ", interrupted"
	case results.Errored:
		return ", not finished"
	}
	return ""
}

func doubleCharged(r results.Run) string {
	if r.Counts == nil || r.Counts.AcquirerCounts == nil {
		return absent
	}
	return fmt.Sprintf("%s of %s", thousands(int64(r.Counts.IntentsDoubleCharged)), count(r.Counts.Intents, "intent"))
}

func told(r results.Run) string {
	if r.Counts == nil || r.Counts.AcquirerCounts == nil {
		return absent
	}
	duplicates, declines := r.Counts.DuplicateCaptures, r.Counts.Declines
	repeats := r.Counts.CaptureRequests - r.Counts.Captures - declines // an acquirer that deduplicates moved no money for them
	return count(r.Counts.Captures, wordsOf(r).One) +
		extras(extra{&duplicates, "too many"}, extra{&declines, "declined"}, extra{&repeats, "deduplicated"})
}

func rows(r results.Run) string {
	if r.Counts == nil || r.Counts.AcquirerCounts == nil || r.Counts.Rows == nil {
		return absent
	}
	return thousands(int64(*r.Counts.Rows)) + extras(extra{r.Counts.DuplicateRows, "duplicate"},
		extra{r.Counts.Orphans, "orphaned"}, extra{r.Counts.ChargedWithoutRecord, "missing"})
}

// extra is a count that is worth words only where it is not zero.
type extra struct {
	n    *int
	what string
}

func extras(list ...extra) string {
	var parts []string
	for _, e := range list {
		if e.n != nil && *e.n > 0 {
			parts = append(parts, thousands(int64(*e.n))+" "+e.what)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

func money(r results.Run, of func(results.Counts) int64) string {
	if r.Counts == nil || r.Counts.AcquirerCounts == nil || r.Counts.MoneyCounts == nil {
		return absent
	}
	return reais(of(*r.Counts))
}

func answers(r results.Run) []string {
	var lines []string
	for _, a := range scenarios.Answers() {
		if n := r.Answers[string(a)]; n > 0 {
			lines = append(lines, fmt.Sprintf("%s %s", thousands(int64(n)), a))
		}
	}
	if len(lines) == 0 {
		return []string{absent}
	}
	return lines
}

func followups(r results.Run) []string {
	f := r.Followups
	if f == nil || f.Repeats == 0 {
		return []string{absent}
	}
	lines := []string{
		fmt.Sprintf("repeat: %d of %d replayed", f.ReplayedSameBytes, f.Repeats),
		fmt.Sprintf("other amount: %d of %d refused", f.Refused, f.Mismatches),
	}
	if o := f.OtherCharges; o != nil {
		lines = append(lines, fmt.Sprintf("other charge: %d of %d charged", o.OthersCharged, o.Others))
	}
	return lines
}

func inFlight(r results.Run) string {
	if r.Overlap == nil || r.Counts == nil {
		return absent
	}
	return fmt.Sprintf("%d at most; %d of %d overlapped", r.Overlap.MaxInFlight, r.Overlap.IntentsOverlapped, r.Counts.Intents)
}

func control(r results.Run) string {
	switch {
	case r.Control == nil && r.Status != results.Complete:
		return absent
	case r.Control == nil:
		return "not needed" // it does not claim to hold
	case r.Control.ForcedCharge == nil && r.Control.Caught():
		return r.Control.Strategy + ": " + strings.ReplaceAll(r.Control.Anomaly, "_", " ")
	case r.Control.ForcedCharge == nil:
		return r.Control.Strategy + " WAS NOT caught"
	case r.Control.Caught():
		return r.Control.Strategy + " " + wordsOf(r).Charged + " twice"
	}
	return r.Control.Strategy + " DID NOT " + wordsOf(r).Charge + " twice"
}
