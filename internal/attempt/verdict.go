package attempt

import (
	"context"

	"idemlab/internal/check"
	"idemlab/results"
	"idemlab/scenarios"
)

// Judge fills in what a run came to by its last tally: counts, answers, anomalies, and the verdict by what must never be found and what
// must.
func (l *Lab) Judge(run *results.Run, end Tally, expect check.Expectation, never, shows []scenarios.Anomaly, doubt string) {
	run.Counts, run.Answers, run.Anomalies = &end.Counts, map[string]int{}, l.Anomalies(end)
	for _, in := range end.Facts {
		for _, a := range in.Attempts {
			CountAnswer(run.Answers, a)
		}
	}
	e := check.Evidence{Doubt: doubt}
	for _, a := range run.Anomalies {
		e.Found = append(e.Found, scenarios.Anomaly(a.Kind))
	}
	j := check.Judge(expect, never, shows, e)
	run.Verdict, run.Expected, run.Reason, run.ExitCode = j.Verdict, j.Expected, j.Reason, j.ExitCode
	for i := range run.Anomalies {
		run.Anomalies[i].Judged = j.Judged(scenarios.Anomaly(run.Anomalies[i].Kind))
	}
}

// CountAnswer counts what a client was told, if it was told anything.
func CountAnswer(in map[string]int, a scenarios.Attempt) {
	if !a.Died && a.Answer != "" {
		in[string(a.Answer)]++
	}
}

// Doubt says why finding nothing would prove nothing.
func Doubt(control *results.Control, end Tally) string {
	switch {
	case control == nil:
		return "no control was run: nothing shows that a violation would have been seen"
	case check.ControlDoubt(control) != "":
		return check.ControlDoubt(control)
	case end.Counts.IntentsCharged == nil:
		return "the rows could not be read"
	case *end.Counts.IntentsCharged == 0:
		return scenarios.Money.Words().NoneApproved()
	}
	return ""
}

// Ended is check.Ended for a story that is judged by its end: what is wrong in the middle of it, an orphan say, may be right then, and
// the other way round.
func Ended(ctx context.Context, run results.Run, err error) (results.Run, error) {
	if ctx.Err() != nil || err != nil {
		run.Verdict, run.Reason, run.ExitCode = results.Inconclusive, "", check.ExitInconclusive
	}
	return check.Ended(ctx, run, err)
}
