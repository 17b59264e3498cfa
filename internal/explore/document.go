package explore

import (
	"fmt"
	"math"

	"idemlab/internal/schedule"
	"idemlab/results"
	"idemlab/scenarios"
)

// Document is the result as it stands in the run document.
func (r Result) Document() results.Explore {
	o := r.Options
	d := results.Explore{
		Sessions: o.Sessions, AttemptsPerSession: o.AttemptsPerSession, Crashes: o.Crashes, LostReplies: o.LostReplies,
		LeaseMS: results.MS(o.Lease),
		Hard:    o.Hard, Instances: max(1, o.Instances), Search: o.Search, Split: r.Split, SplitCommit: r.SplitCommit, WholeCommits: r.WholeCommits,
		ReadsClock: r.Clock,
		Schedules:  r.Schedules, Violating: r.Violating, BlockedSteps: r.BlockedSteps, Divergences: r.Divergences,
		Coverage: r.Coverage(), Bounds: r.Bounds(), SchedulesPerSecond: r.SchedulesPerSecond(), Fingerprint: r.Fingerprint,
		Outcomes: []results.Outcome{}, Violations: []results.Violation{},
	}
	if r.Orders > 0 {
		orders := math.Round(r.Orders)
		d.OrdersEstimate = &orders
	}
	d.Beside = beside(o)
	for _, c := range r.Outcomes {
		d.Outcomes = append(d.Outcomes, outcomeDocument(o.Scenario, c.Outcome, c.Schedules))
	}
	for _, v := range r.Violations {
		d.Violations = append(d.Violations, results.Violation{
			Schedule: v.Schedule, Short: v.Short, Anomaly: string(v.Anomaly), Detail: v.Detail,
			Faults: v.Faults, Switches: v.Switches, Minimal: v.Minimal,
		})
	}
	return d
}

// ReplayDocument is one schedule as it stands in the run document.
func ReplayDocument(o Options, t Trace) results.Explore {
	violating := 0
	if len(t.Outcome.Anomalies) > 0 {
		violating = 1
	}
	trace := t.Document()
	return results.Explore{
		Sessions: o.Sessions, AttemptsPerSession: o.AttemptsPerSession, LeaseMS: results.MS(o.Lease), Search: "replay", Hard: o.Hard, Instances: max(1, o.Instances), Split: !o.NoSplit,
		Schedules: 1, Violating: violating, Coverage: "one schedule", Bounds: "one schedule: " + trace.Short, Beside: beside(o),
		Outcomes:   []results.Outcome{outcomeDocument(o.Scenario, t.Outcome, 1)},
		Violations: []results.Violation{}, Trace: &trace,
	}
}

func beside(o Options) []string {
	var names []string
	for _, j := range o.Others {
		names = append(names, j.Name)
	}
	return names
}

func outcomeDocument(s scenarios.Scenario, o Outcome, schedules int) results.Outcome {
	d := results.Outcome{Answers: []string{}, Anomalies: kinds(o.Anomalies), Schedules: schedules}
	if s.Acquirer {
		d.Captures = &o.Captures
	} else {
		d.Rows = rowWords(o.intent.Rows)
	}
	for _, a := range o.Answers {
		d.Answers = append(d.Answers, string(a))
	}
	return d
}

func kinds(list []scenarios.Anomaly) []string {
	out := []string{}
	for _, a := range list {
		out = append(out, string(a))
	}
	return out
}

// Document is the trace as it stands in the run document.
func (t Trace) Document() results.Trace {
	d := results.Trace{
		Schedule: t.Schedule.String(), Short: t.Schedule.Short(), Prepared: t.Prepared, Sessions: t.Sessions, AmountCents: amountCents,
		Turns: []results.Turn{},
	}
	for _, turn := range t.Turns {
		d.Turns = append(d.Turns, turn.document())
	}
	return d
}

func (t Turn) document() results.Turn {
	d := results.Turn{
		Session: name(t.Session), Kind: kind(t.Kind), Attempt: t.Attempt, Step: t.Step, SQL: t.SQL, Sent: t.Sent, Result: t.Result,
		Captures: t.Captures, Table: rowWords(t.Table),
	}
	if t.Wishes > 1 {
		d.Wishes = t.Wishes
	}
	for _, b := range t.BlockedBy {
		d.WaitsFor = append(d.WaitsFor, name(b))
	}
	for _, w := range t.Woke {
		d.Woke = append(d.Woke, results.Woken{Session: name(w.Session), Step: w.Step, Result: w.Result})
	}
	for _, a := range t.Answers {
		d.Answers = append(d.Answers, results.Told{
			Session: name(a.Session), Attempt: a.Attempt, Answer: string(a.Answer), HTTP: a.HTTP, SQLState: a.SQLState, Died: a.Died,
		})
	}
	return d
}

// rowWords numbers the rows that attempts made from 1: the sequence skips what was rolled back.
func rowWords(rows []scenarios.Row) []string {
	var out []string
	n := 0
	for _, r := range rows {
		if r.ID == 0 { // it was there before
			out = append(out, r.Status)
			continue
		}
		n++
		out = append(out, fmt.Sprintf("#%d %s", n, r.Status))
	}
	return out
}

func name(session int) string { return string(rune('A' + session)) }

func kind(k schedule.Kind) string {
	switch k {
	case schedule.LostRequest:
		return results.TurnLostRequest
	case schedule.LostReply:
		return results.TurnLostReply
	case schedule.Die:
		return results.TurnDies
	case schedule.Answer:
		return results.TurnAnswer
	}
	return results.TurnStep
}
