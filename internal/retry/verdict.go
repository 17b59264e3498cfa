package retry

import (
	"fmt"
	"slices"
	"strings"

	"idemlab/internal/check"
	"idemlab/results"
	"idemlab/scenarios"
)

// hazard is the worst that befell the attempts. A client that times out and comes back is a race, and no more: the service does not
// know of it, and finishes.
func (r *runner) hazard() scenarios.Hazard {
	struck := r.plan.Struck()
	lost := false
	for i, f := range r.plan.Faults() {
		if struck[i] == 0 {
			continue
		}
		if f.Crashes() {
			return scenarios.Crash
		}
		lost = lost || f.LosesReply()
	}
	switch {
	case lost:
		return scenarios.LostReply
	case r.o.Instances > 1:
		return scenarios.Instances
	}
	return scenarios.Race
}

// claims are what the strategy says of itself under the hazard, as far as this run can show it; note says where that was bent.
func (r *runner) claims(hazard scenarios.Hazard, found []scenarios.Anomaly) (never, shows []scenarios.Anomaly, note string) {
	never, shows = r.o.Strategy.Judged(hazard, r.o.Isolation)
	if r.o.KeyPolicy == NewPerAttempt { // a strategy can only be as good as the key that it is given
		return nil, []scenarios.Anomaly{scenarios.DoubleCharge}, "the client makes a new key for each attempt, which no strategy withstands"
	}
	drop := func(list []scenarios.Anomaly, gone ...scenarios.Anomaly) []scenarios.Anomaly {
		return slices.DeleteFunc(list, func(a scenarios.Anomaly) bool { return slices.Contains(gone, a) })
	}
	if r.o.Effect == scenarios.EMail && (hazard == scenarios.Crash || hazard == scenarios.LostReply) {
		asks := len(never)
		never = drop(never, scenarios.Orphan, scenarios.ChargedWithoutRecord) // it was claimed of an acquirer that can be asked
		bent := r.o.Reconcile || len(never) < asks
		switch {
		case bent && slices.Contains(found, scenarios.Orphan):
			note = "nobody can be asked what became of an e-mail: its orphan cannot be reconciled, and is left"
		case len(never) < asks && slices.Contains(found, scenarios.ChargedWithoutRecord):
			note = "nobody can be asked what became of an e-mail: that one went out unrecorded is not judged"
		}
	} else if r.o.Reconcile && (hazard == scenarios.Crash || hazard == scenarios.LostReply) {
		shows = drop(shows, scenarios.Orphan)
		never = append(drop(never, scenarios.Orphan), scenarios.Orphan)
		note = "the orphans that the strategy leaves are reconciled: none may be left"
	}
	if w := r.o.Effect.Words(); r.o.Acquirer.Dedup && !r.o.Strategy.WantsDedup {
		shows = nil
		never = append(drop(never, scenarios.DoubleCharge), scenarios.DoubleCharge)
		note = strings.TrimPrefix(fmt.Sprintf("%s; the %s %s, whatever the strategy does", note, w.Far, w.Once), "; ")
	}
	// Some run must show each of these, and this is one run: it has to show one of them. An orphan it need not: whether one is left
	// depends on where the fault strikes, and a strategy that leaves none is not worse for it.
	var shown []scenarios.Anomaly
	for _, a := range shows {
		if slices.Contains(found, a) {
			shown = append(shown, a)
		}
	}
	if len(shown) == 0 {
		shown = drop(shows, scenarios.Orphan)
	}
	return never, shown, note
}

// judge compares what was found with what the strategy claims, and marks the anomalies that counted.
func (r *runner) judge(run *results.Run) {
	hazard := r.hazard()
	run.Hazard = string(hazard)
	e := check.Evidence{Doubt: r.doubt(*run)}
	for _, a := range run.Anomalies {
		e.Found = append(e.Found, scenarios.Anomaly(a.Kind))
	}
	never, shows, note := r.claims(hazard, e.Found)
	j := check.Judge(r.o.Expect, never, shows, e)
	run.Verdict, run.Expected, run.Reason, run.ExitCode = j.Verdict, j.Expected, j.Reason, j.ExitCode
	if note != "" {
		run.Reason = strings.TrimPrefix(run.Reason+"; "+note, "; ")
	}
	for i := range run.Anomalies {
		run.Anomalies[i].Judged = j.Judged(scenarios.Anomaly(run.Anomalies[i].Kind))
	}
}

// doubt says why finding nothing would prove nothing.
func (r *runner) doubt(run results.Run) string {
	d := run.Retry
	switch {
	case run.Counts.Intents == 0:
		return "no customer came to an end"
	case run.Counts.Intents < r.o.Intents:
		return fmt.Sprintf("stopped after %d of %d intents", run.Counts.Intents, r.o.Intents)
	case check.ControlDoubt(run.Control) != "":
		return check.ControlDoubt(run.Control)
	case run.Counts.Rows == nil:
		return "the rows could not be read"
	case *run.Counts.IntentsCharged == 0:
		return r.o.Effect.Words().NoneApproved()
	case d.Requests.Sent == run.Counts.Intents:
		return "no request was sent again: nothing shows what a second one would have done"
	case r.missing() != "":
		return r.missing() + " never struck: nothing shows what it would have done"
	case r.o.Reconcile && r.o.Effect != scenarios.EMail && d.Final.Never > 0:
		return fmt.Sprintf("%d customers have no final answer, with the faults off and all orphans reconciled", d.Final.Never)
	case d.Reconciliation != nil && d.Reconciliation.AgainChanged > 0:
		return fmt.Sprintf("reconciling again changed %d rows", d.Reconciliation.AgainChanged)
	}
	return ""
}

// missing names the faults that were asked for one by one and never struck.
func (r *runner) missing() string {
	var names []string
	struck := r.plan.Struck()
	for i, f := range r.plan.Faults() {
		if struck[i] == 0 && slices.Contains(r.o.Asked, f) {
			names = append(names, f.String())
		}
	}
	return strings.Join(names, ", ")
}
