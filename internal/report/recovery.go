package report

import (
	"fmt"
	"strings"

	"idemlab/results"
	"idemlab/scenarios"
)

// isReconciled says that the document is of a reconciler's pass over a service's tables.
func isReconciled(d results.Document) bool {
	return len(d.Runs) > 0 && d.Runs[0].Recovery != nil && d.Runs[0].Recovery.Settings.Demonstration == nil
}

func recoveryHeading(b *strings.Builder, r results.Run) {
	s := r.Recovery.Settings
	if s.Demonstration == nil {
		fmt.Fprintf(b, "%s, %s: PROCESSANDO for longer than %s by the server's clock, in %s%s%s\n", r.Engine, r.Scenario, short(s.LeaseMS), s.Tables,
			deadlineText(s), dryText(s))
		return
	}
	than := "shorter than"
	if s.CallsOutlastLease {
		than = "LONGER THAN"
	}
	fmt.Fprintf(b, "%s, %s: %s, %d for each of what befalls the first attempt; the acquirer takes %s, %s the lease of %s;\nreconciler %s%s, the clients come again before it and after it; seed %d\n",
		r.Engine, r.Scenario, count(2*s.IntentsEach*len(s.Befalls), "intent"), 2*s.IntentsEach, s.AcquirerLatency, than, short(s.LeaseMS),
		s.Reconciler, deadlineText(s), r.Seed)
}

func deadlineText(s results.RecoverySettings) string {
	if s.DeadlineMS == 0 {
		return ""
	}
	return "; closed after " + short(s.DeadlineMS) + " where the acquirer knows nothing"
}

func dryText(s results.RecoverySettings) string {
	if !s.DryRun {
		return ""
	}
	return "; DRY RUN, nothing is written"
}

// recoveryFields are the figures of a demonstration: what befell whom, what was left, and what became of it.
func recoveryFields(r results.Run) []field {
	s := r.Recovery
	var list []field
	for _, befalls := range s.Settings.Befalls {
		list = append(list, field{befalls, groupLines(s.Groups, befalls), moodOfGroups(s.Groups, befalls)})
	}
	for _, st := range s.Stages {
		m := plain
		if st.WithoutRecord > 0 {
			m = bad
		}
		list = append(list, field{st.Name, stageLines(st), m})
	}
	return append(list,
		field{"reconciler", passLines(s.Passes), plain},
		field{"double-charged", []string{doubleCharged(r)}, moodOfCount(r)},
		field{"owed", []string{money(r, func(c results.Counts) int64 { return c.OwedCents })}, plain},
		field{"taken", []string{money(r, func(c results.Counts) int64 { return c.CapturedCents })}, moodOfCount(r)},
		field{"control", []string{control(r)}, plain},
		field{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)},
	)
}

// groupLines says for one thing that befell what the acquirer was told, and what the clients were that came again: in one line where it
// did not matter when they came.
func groupLines(groups []results.RecoveryGroup, befalls string) []string {
	var lines, told []string
	captures := 0
	for _, g := range groups {
		if g.Befalls != befalls {
			continue
		}
		text := "told " + byAnswer(g.Told)
		if later := byAnswer(g.Later); later != byAnswer(g.Told) {
			text += ", later " + later
		}
		lines = append(lines, g.Retry+": "+count(g.Captures, "capture"), "  "+text)
		captures += g.Captures
		told = append(told, fmt.Sprint(g.Captures, text))
	}
	switch {
	case len(lines) == 0:
		return []string{absent}
	case len(told) == 2 && told[0] == told[1]:
		return []string{count(captures, "capture"), lines[1]}
	}
	return lines
}

func moodOfGroups(groups []results.RecoveryGroup, befalls string) mood {
	for _, g := range groups {
		if g.Befalls == befalls && g.DoubleCharged > 0 {
			return bad
		}
	}
	return plain
}

func byAnswer(n map[string]int) string {
	var parts []string
	for _, a := range scenarios.Answers() {
		if n[string(a)] > 0 {
			parts = append(parts, string(a))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "/")
}

func stageLines(s results.Stage) []string {
	return []string{
		fmt.Sprintf("%s, %s", reais(s.CapturedCents), count(s.Captures, "capture")),
		fmt.Sprintf("%s, %s", reais(s.RecordedCents), count(s.Recorded, "record")),
		fmt.Sprintf("%s without record", reais(s.WithoutRecordCents)),
		count(s.Orphans, "orphan"),
	}
}

func passLines(passes []results.RecoveryPass) []string {
	if len(passes) == 0 {
		return []string{"none"}
	}
	var lines []string
	for _, p := range passes {
		if p.Changed == 0 {
			lines = append(lines, fmt.Sprintf("%s: nothing changed, %d left", p.Name, p.Found.Count))
			continue
		}
		lines = append(lines, fmt.Sprintf("%s: %s", p.Name, count(p.Found.Count, "orphan")))
		for _, f := range p.Fates {
			lines = append(lines, fmt.Sprintf("  %d %s, %s", f.Count, f.Fate, reais(f.Cents)))
		}
	}
	return lines
}

// reconciled is what became of a service's orphans, a line for each, and the sums.
func reconciled(b *strings.Builder, r results.Run) {
	for _, p := range r.Recovery.Passes {
		width := 0
		for _, o := range p.Orphans {
			width = max(width, len(o.Key))
		}
		for _, o := range p.Orphans {
			fmt.Fprintf(b, "%-*s  order %d  %s  %s old  %s\n", width, o.Key, o.OrderID, reais(o.AmountCents), age(o.AgeMS), fateText(o))
		}
		if n := p.Found.Count - len(p.Orphans); n > 0 {
			fmt.Fprintf(b, "… and %s more\n", thousands(int64(n)))
		}
		if p.Found.Count > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "%s, %s; %s written\n", count(p.Found.Count, "orphan"), reais(p.Found.Cents), count(p.Changed, "row"))
		for _, f := range p.Fates {
			fmt.Fprintf(b, "  %-12s %6s  %s%s\n", f.Fate, thousands(int64(f.Count)), reais(f.Cents), fateNote(f.Fate, r.Recovery.Settings.DryRun))
		}
	}
}

// age is a row's, as exactly as anybody wants to know it.
func age(ms float64) string {
	if ms < 1000 {
		return short(float64(int(ms)))
	}
	return span(float64(int(ms / 1000)))
}

func fateText(o results.SettledOrphan) string {
	switch {
	case o.Reason != "":
		return "left: " + o.Reason
	case o.Receipt != "":
		return fmt.Sprintf("%s (%s): a retry is told %d", o.Fate, o.Receipt, o.HTTP)
	case o.HTTP > 0:
		return fmt.Sprintf("%s: a retry is told %d", o.Fate, o.HTTP)
	}
	return o.Fate
}

func fateNote(fate string, dry bool) string {
	notes := map[string]string{
		"captured": "  taken, and without a record until now", "declined": "  refused", "closed": "  never arrived, and now too late to",
		"unknown": "  left: may still arrive", "unreachable": "  left: the acquirer did not answer, or cannot be asked", "changed": "  left: in somebody else's hands",
	}
	if dry && fate == "captured" {
		return "  taken, and without a record"
	}
	return notes[fate]
}
