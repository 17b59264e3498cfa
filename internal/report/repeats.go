package report

import (
	"fmt"
	"strings"

	"idemlab/results"
)

// isRepeats says whether the document is about what a repeat costs: few figures of many strategies, so a row for each.
func isRepeats(runs []results.Run) bool { return len(runs) > 0 && runs[0].Repeats != nil }

func repeatsHeading(b *strings.Builder, r results.Run) {
	fmt.Fprintf(b, "repeats, %s: one finished key, %s one after another: the client's median, and the mean of the rest; seed %d\n",
		r.Scenario, count(r.Repeats.Settings.Repeats, "more repeat"), r.Seed)
}

// repeatsFields are the figures of one strategy.
func repeatsFields(r results.Run) []field {
	d := *r.Repeats
	return []field{
		{"client", []string{repeatClient(d)}, plain},
		{"CPU", []string{perRepeat(d, func(p results.PerRepeat) string { return fineMS(p.ServerCPUMS) })}, plain},
		{"WAL", []string{perRepeat(d, func(p results.PerRepeat) string { return size(p.WALBytes) })}, plain},
		{"xids", []string{perRepeat(d, func(p results.PerRepeat) string { return aRepeat(&p.XIDs) })}, plain},
		{"written", []string{perRepeat(d, func(p results.PerRepeat) string { return aRepeat(p.RowVersions) })}, plain},
		{"dead", []string{perRepeat(d, func(p results.PerRepeat) string { return aRepeat(p.DeadRows) })}, plain},
		{"heap", []string{perRepeat(d, func(p results.PerRepeat) string { return size(p.HeapBytes) })}, plain},
		{"index", []string{perRepeat(d, func(p results.PerRepeat) string { return size(p.IndexBytes) })}, plain},
		{"ids gone", []string{perRepeat(d, func(p results.PerRepeat) string { return aRepeat(&p.SequenceNumbers) })}, plain},
		{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)},
	}
}

func repeatClient(d results.Repeats) string {
	if d.Client == nil {
		return absent
	}
	return fineMS(d.Client.P50MS)
}

func perRepeat(d results.Repeats, of func(results.PerRepeat) string) string {
	if d.PerRepeat == nil {
		return absent
	}
	return of(*d.PerRepeat)
}

// fineMS is ms to the microsecond: most of what is told apart here lies below a tenth of a millisecond.
func fineMS(v *float64) string {
	if v == nil || *v >= 1 {
		return ms(v)
	}
	return fmt.Sprintf("%.3f ms", *v)
}

// aRepeat writes how often something happens at each repeat.
func aRepeat(v *float64) string {
	switch {
	case v == nil:
		return absent
	case *v == 0:
		return "0"
	case *v > 0 && *v < 0.005:
		return "< 0.01"
	}
	return fmt.Sprintf("%.2f", *v)
}

// repeatsNotes say how the figures came about.
func repeatsNotes(runs []results.Run) (lines []string) {
	unchecked, sequence, counted := false, false, false
	for _, r := range runs {
		d := r.Repeats
		if d == nil || d.PerRepeat == nil || d.Around == nil {
			continue
		}
		p, a := d.PerRepeat, d.Around
		counted = true
		unchecked = unchecked || !a.Checkpointed
		sequence = sequence || p.SequenceNumbers > 0 && p.XIDs > 0 && p.XIDs < 0.1
		// A tenth: what is below it does not change what the figure says.
		if total := p.WALBytes * float64(d.Counted); a.IdleWALBytes > 0 && float64(a.IdleWALBytes) > total/10 {
			lines = append(lines, fmt.Sprintf("%s: in as much time without a repeat the server wrote %s of WAL, of %s with them: others are at work on it.",
				r.Strategy, size(float64(a.IdleWALBytes)), size(total)))
		}
	}
	if sequence {
		lines = append(lines, "A refused INSERT takes a number of the identity all the same; every 32nd of them is logged, and takes a transaction id.")
	}
	if unchecked {
		lines = append(lines, "The role may make no CHECKPOINT, so that full-page images may be in the WAL.")
	}
	if counted {
		lines = append(lines, "One repeat at a time shows its price, not the guarantee: whoever only looks answers it too, and cheaply.")
	}
	return lines
}
