package report

import (
	"fmt"
	"strings"

	"idemlab/results"
)

// notes are sentences about what the table cannot say.
func notes(b *strings.Builder, runs []results.Run) {
	lines := append(storageNotes(runs), repeatsNotes(runs)...)
	held := false
	for _, r := range runs {
		if deduplicates(r) {
			lines = append(lines, fmt.Sprintf("%s: %s", r.Strategy, wordsOf(r).Dedup))
		}
		if r.Consume != nil {
			lines = append(lines, consumeNotes(r)...)
		}
		if x := r.Expiry; x != nil && x.Settings.RetryAfterS > x.Settings.KeyLifetimeS && x.Deleted > 0 && r.Verdict == results.Violated {
			lines = append(lines, fmt.Sprintf("%s: a key lives shorter than a retry may take, so that the retry is a new charge. The contract must say so.", r.Strategy))
		}
		if n := unjudged(r); n != "" {
			lines = append(lines, fmt.Sprintf("%s: also seen, and not claimed either way: %s.", r.Strategy, n))
		}
		if n, what := raced(r); r.Verdict == results.Held && n > 0 {
			held = true
			lines = append(lines, fmt.Sprintf("%s: %s in %s%s.", r.Strategy, what, of(r, n), bound(r, n)))
		}
	}
	if held {
		lines = append(lines, showsWhatHappened(runs[0]))
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(lines, "\n"))
	}
}

// deduplicates says whether the acquirer moved money once for each key.
func deduplicates(r results.Run) bool {
	if r.Recovery != nil && r.Recovery.Settings.Demonstration != nil {
		return r.Recovery.Settings.AcquirerDedup
	}
	if r.Expiry != nil {
		return r.Expiry.Settings.Dedup
	}
	s := acquirerOf(r)
	return s != nil && s.AcquirerDedup
}

// acquirerOf is how the acquirer was asked for, or nil.
func acquirerOf(r results.Run) *results.AcquirerSettings {
	switch {
	case r.Settings != nil:
		return r.Settings.AcquirerSettings
	case r.Load != nil:
		return r.Load.Settings.AcquirerSettings
	case r.Consume != nil:
		return r.Consume.Settings.AcquirerSettings
	}
	return nil
}

func of(r results.Run, n int) string {
	if r.Consume != nil {
		return count(n, "charge") + " that came to a consumer twice"
	}
	return count(n, "intent") + " that raced"
}

func showsWhatHappened(r results.Run) string {
	if r.Consume != nil {
		return "A run shows what happened, not what can happen."
	}
	return "A race shows what happened, not what can happen."
}

// raced is the number of intents in which something could have gone wrong and did not, and what: their attempts overlapped,
// and where there is an acquirer it approved. Where some went wrong after all there is no bound to give.
func raced(r results.Run) (n int, what string) {
	switch {
	case r.Load != nil && r.Counts != nil && r.Counts.AcquirerCounts != nil && r.Counts.IntentsDoubleCharged == 0:
		return r.Load.IntentsOverlapped, "0 double charges"
	case r.Consume != nil && r.Counts != nil && r.Counts.AcquirerCounts != nil && r.Counts.IntentsDoubleCharged == 0:
		return r.Consume.Repeated, "0 double charges"
	case r.Counts == nil || r.Overlap == nil:
		return 0, ""
	case r.Counts.AcquirerCounts == nil:
		return r.Overlap.IntentsOverlapped, "0 violations"
	case r.Counts.IntentsCharged == nil || r.Counts.IntentsDoubleCharged > 0:
		return 0, ""
	}
	return min(*r.Counts.IntentsCharged, r.Overlap.IntentsOverlapped), "0 " + wordsOf(r).Duplicates
}

// unjudged names the kinds of anomaly that were found and that the strategy says nothing about.
func unjudged(r results.Run) string {
	n := map[string]int{}
	var kinds []string
	for _, a := range r.Anomalies {
		if a.Judged {
			continue
		}
		if n[a.Kind] == 0 {
			kinds = append(kinds, a.Kind)
		}
		n[a.Kind]++
	}
	var parts []string
	for _, k := range kinds {
		if r.Engine == "explore" { // one entry for each kind: its shortest order
			parts = append(parts, k)
			continue
		}
		of := count(n[k], "intent")
		if r.Load != nil && n[k] >= namedUnderLoad {
			of += " or more"
		}
		parts = append(parts, fmt.Sprintf("%s in %s", k, of))
	}
	return strings.Join(parts, ", ")
}

// namedUnderLoad is how many intents with one kind of anomaly a run under load names.
const namedUnderLoad = 50

// verdicts is a line for each run, and the last one for all of them.
func verdicts(b *strings.Builder, d results.Document, s Style) {
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	for _, r := range d.Runs {
		line := fmt.Sprintf("%s: %s", subject(r), r.Verdict)
		if r.Reason != "" {
			line += " (" + r.Reason + ")"
		}
		fmt.Fprintf(b, "%s, %s\n", field{mood: moodOf(r)}.paint(line, s), outcome(r))
	}
	for _, s := range d.Skipped {
		fmt.Fprintf(b, "%s: skipped (%s)\n", s.Strategy, s.Reason)
	}
	fmt.Fprintf(b, "verdict: %s%s\n", conclusion(d), gateConclusion(d))
}

// outcome compares the verdict with what was expected.
func outcome(r results.Run) string {
	how := strings.TrimPrefix(ending(r), ", ")
	switch {
	case r.Status != results.Complete && strings.HasPrefix(r.Reason, how):
		return "what is above was measured until then"
	case r.Status != results.Complete:
		return how + ": what is above was measured until then"
	case r.ClaimCode() == 0:
		return "as expected"
	}
	return "expected " + string(r.Expected)
}

func conclusion(d results.Document) string {
	switch claimCode(d) {
	case 0:
		return string(d.Verdict) + ", as expected" + several(d)
	case 1:
		return "AGAINST EXPECTATION: " + against(d)
	case 130:
		return "interrupted; what was measured until then is " + string(d.Verdict)
	case 4:
		if d.Verdict == results.Inconclusive {
			return "inconclusive: what was expected is neither shown nor refuted"
		}
		return string(d.Verdict) + ", but not all that was to be shown was"
	}
	for _, r := range d.Runs {
		if r.Status == results.Complete {
			return string(d.Verdict) + ", but the command did not come to its end"
		}
	}
	return "none: the run did not come to its end"
}

// against names the runs that did not end as expected.
func against(d results.Document) string {
	var parts []string
	for _, r := range d.Runs {
		if r.ClaimCode() == 1 {
			parts = append(parts, fmt.Sprintf("%s %s", subject(r), r.Verdict))
		}
	}
	return strings.Join(parts, ", ")
}

// several keeps the last line honest where runs differ: "violated" alone would hide the one that held.
func several(d results.Document) string {
	if len(d.Runs) < 2 {
		return ""
	}
	n := map[results.Verdict]int{}
	for _, r := range d.Runs {
		n[r.Verdict]++
	}
	var parts []string
	for _, v := range []results.Verdict{results.Violated, results.Held, results.Inconclusive} {
		if n[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n[v], v))
		}
	}
	return " (" + strings.Join(parts, ", ") + ")"
}
