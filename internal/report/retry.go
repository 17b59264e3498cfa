package report

import (
	"fmt"
	"strings"

	"idemlab/results"
)

// What the terminal shows of lists that the document holds at length.
const (
	mostStoriesShown = 3
	mostNamesShown   = 10
	mostFaultsShown  = 12
)

// retryFields are the figures of customers who time out and come back, at the end of the run.
func retryFields(r results.Run) []field {
	t := *r.Retry
	list := append(effectFields(r), []field{
		{"faults", retryFaults(t), plain},
		{"processes", []string{retryProcesses(t)}, plain},
		{"requests", retryRequests(t), plain},
		{"answers", answers(r), plain},
		{"errors", []string{sqlstates(r)}, plain},
		{"final answers", retryFinals(t), plain},
		{"until final", []string{timeToFinal(t)}, plain},
		{"told last", retryTold(r), plain},
		{"orphans", []string{retryOrphans(t)}, plain},
	}...)
	if wordsOf(r).Cents {
		list = append(list, field{"unrecorded", []string{retryUnrecorded(t)}, plain})
	}
	return append(list,
		field{"control", []string{control(r)}, plain},
		field{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)})
}

// retryHeading is the client, in a line or two.
func retryHeading(b *strings.Builder, r results.Run) {
	s, c := r.Retry.Settings, r.Settings
	fmt.Fprintf(b, "retry, %s: %s of a customer with %s each, %d at a time; time-out %s, %s, back-off %s, key %s\n",
		r.Scenario, count(c.Intents, "intent"), count(s.Clicks, "tap"), s.Concurrency, msText(s.TimeoutMS), retriesText(s.Retries), s.Backoff, s.KeyPolicy)
	fmt.Fprintf(b, "%s of the service, pool %d", count(c.Instances, "instance"), c.Pool)
	if c.AcquirerSettings != nil {
		fmt.Fprintf(b, "; the %s takes %s", wordsOf(r).Far, c.AcquirerLatency)
	}
	if s.Reconcile {
		fmt.Fprintf(b, "; orphans are reconciled after %s", msText(s.ReconcileMS))
	}
	fmt.Fprintf(b, "; seed %d\n", r.Seed)
}

func retriesText(n int) string {
	if n == 1 {
		return "1 retry"
	}
	return fmt.Sprintf("%d retries", n)
}

func msText(ms float64) string {
	if ms >= 1000 {
		return fmt.Sprintf("%g s", ms/1000)
	}
	return fmt.Sprintf("%g ms", ms)
}

func retryFaults(t results.Retry) []string {
	if len(t.Faults) == 0 {
		return []string{"none but time"}
	}
	var lines []string
	for i, f := range t.Faults {
		if i == mostFaultsShown {
			lines = append(lines, fmt.Sprintf("… and %d more", len(t.Faults)-i))
			break
		}
		lines = append(lines, fmt.Sprintf("%s: struck %s", f.Fault, thousands(int64(f.Struck))))
	}
	return lines
}

func retryProcesses(t results.Retry) string {
	text := fmt.Sprintf("%s started, %s killed", thousands(int64(t.ServiceStarts)), thousands(int64(t.ServiceDeaths)))
	if t.PostgresCrashes > 0 {
		text += fmt.Sprintf("; PostgreSQL crashed: %d", t.PostgresCrashes)
	}
	return text
}

func retryRequests(t results.Retry) []string {
	q := t.Requests
	lines := []string{fmt.Sprintf("%s, %s of them unheard", thousands(int64(q.Sent)), thousands(int64(q.Unheard)))}
	if t.RequestsPerFinal != nil {
		lines = append(lines, fmt.Sprintf("%.2f for each final answer", *t.RequestsPerFinal))
	}
	return lines
}

func retryFinals(t results.Retry) []string {
	lines := []string{fmt.Sprintf("%s during the run", thousands(int64(t.Final.DuringTheRun)))}
	if n := t.Final.AtTheEnd; n > 0 {
		lines = append(lines, fmt.Sprintf("%s on coming back at the end", thousands(int64(n))))
	}
	if n := t.Final.Never; n > 0 {
		lines = append(lines, fmt.Sprintf("%s never", thousands(int64(n))))
	}
	return lines
}

func timeToFinal(t results.Retry) string {
	l := t.TimeToFinal
	if l.N == 0 {
		return absent
	}
	return fmt.Sprintf("p50 %.0f, p90 %.0f, p99 %.0f, max %.0f ms", *l.P50MS, *l.P90MS, *l.P99MS, *l.MaxMS)
}

// retryTold sets what customers heard last against what was taken from them.
func retryTold(r results.Run) []string {
	var lines []string
	charged := wordsOf(r).Charged
	for _, told := range r.Retry.Told {
		var parts []string
		for _, p := range []struct {
			n    int
			what string
		}{{told.Taken.Once, charged + " once"}, {told.Taken.MoreThanOnce, charged + " more than once"}, {told.Taken.Never, "not " + charged}} {
			if p.n > 0 {
				parts = append(parts, fmt.Sprintf("%s %s", thousands(int64(p.n)), p.what))
			}
		}
		lines = append(lines, strings.ReplaceAll(told.Answer, "_", " ")+": "+strings.Join(parts, ", "))
	}
	if len(lines) == 0 {
		return []string{absent}
	}
	return lines
}

func retryOrphans(t results.Retry) string {
	switch o := t.Orphans; {
	case o == nil:
		return absent
	case t.Reconciliation == nil:
		return thousands(int64(o.After))
	default:
		return fmt.Sprintf("%d before, %d after reconciliation", o.Before, o.After)
	}
}

func retryUnrecorded(t results.Retry) string {
	switch u := t.Unrecorded; {
	case u == nil || u.BeforeCents == nil || u.AfterCents == nil:
		return absent
	case t.Reconciliation == nil:
		return reais(*u.AfterCents)
	default:
		return fmt.Sprintf("%s before, %s after", reais(*u.BeforeCents), reais(*u.AfterCents))
	}
}

// aftermath names what was left half-way, and tells some stories.
func aftermath(b *strings.Builder, runs []results.Run) {
	for _, r := range runs {
		if r.Retry == nil {
			continue
		}
		orphans(b, r)
		unrecorded(b, r)
		if c := r.Retry.Reconciliation; c != nil {
			fmt.Fprintf(b, "\n%s: reconciled in %s: %d recorded as captured, %d as declined, %d closed that the %s knew nothing of; again: %d changed\n",
				r.Strategy, passes(c.Passes), c.Captured, c.Declined, c.Closed, wordsOf(r).Far, c.AgainChanged)
			if c.CannotAsk > 0 {
				fmt.Fprintf(b, "  %d left: there is no way to ask what became of them, so that they cannot be reconciled\n", c.CannotAsk)
			}
		}
		stories(b, r)
	}
}

func passes(n int) string {
	if n == 1 {
		return "1 pass"
	}
	return fmt.Sprintf("%s passes", thousands(int64(n)))
}

func orphans(b *strings.Builder, r results.Run) {
	o := r.Retry.Orphans
	if o == nil || len(o.Named) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s: left PROCESSANDO, with nobody working on it (%s):\n", r.Strategy, count(o.Before, "intent"))
	for i, n := range o.Named {
		if i == mostNamesShown {
			fmt.Fprintf(b, "  … and %d more in the document\n", o.Before-i)
			break
		}
		fmt.Fprintf(b, "  order %d%s, key %s%s\n", n.OrderID, amount(r, n.TakenCents, " taken"), n.Intent, settledText(n.Left, r))
	}
}

func unrecorded(b *strings.Builder, r results.Run) {
	u := r.Retry.Unrecorded
	if u == nil || len(u.Named) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s: %s%s:\n", r.Strategy, wordsOf(r).Unwritten, amount(r, u.BeforeCents, ""))
	for i, n := range u.Named {
		if i == mostNamesShown {
			fmt.Fprintf(b, "  … and %d more in the document\n", len(u.Named)-i)
			break
		}
		fmt.Fprintf(b, "  order %d%s, %s%s\n", n.OrderID, amount(r, n.Cents, ""), strings.Join(n.Receipts, " "), settledText(n.Left, r))
	}
}

func settledText(left bool, r results.Run) string {
	switch {
	case r.Retry.Reconciliation == nil:
		return ""
	case left:
		return " (still so)"
	}
	return " (settled)"
}

func stories(b *strings.Builder, r results.Run) {
	for i, s := range r.Retry.Stories {
		if i == mostStoriesShown {
			fmt.Fprintf(b, "\n… and %d more stories in the document\n", len(r.Retry.Stories)-i)
			break
		}
		fmt.Fprintf(b, "\n%s, order %d: %s\n", r.Strategy, s.OrderID, s.Why)
		for _, line := range s.Lines {
			fmt.Fprintf(b, "  %s\n", line)
		}
	}
}
