package explore

import (
	"context"
	"errors"
	"fmt"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// errReduction says that the reduced search has missed something that another search met: nothing it says can be believed.
var errReduction = errors.New("the reduced search missed an outcome")

// reduced probes the cheapest schedules, so that a violation shows at once; then covers every class; then proves that the
// violations found are the shortest. What the probes met, the reduced search must have met too: if it did not, the run is void.
func (x *exploration) reduced(ctx context.Context) error {
	first := schedule.NewFull()
	for i := 0; i < probes && first.More() && len(x.best) == 0; i++ {
		if err := x.probe(ctx, first); err != nil {
			return err
		}
	}
	if err := x.search(ctx, schedule.NewDPOR(x.e.o.relation)); err != nil {
		return err
	}
	if err := x.shorten(ctx); err != nil {
		return err
	}
	for key := range x.probed {
		if !x.result.keys[key] {
			return fmt.Errorf("%w (%s): search with --search full", errReduction, key)
		}
	}
	return nil
}

func (x *exploration) probe(ctx context.Context, s schedule.Search) error {
	if err := x.limit(); err != nil {
		return err
	}
	j, err := x.one(ctx, s)
	if err != nil {
		return err
	}
	x.result.Probes++
	x.probed[j.outcome.Key()] = true
	x.violations(j)
	return nil
}

// shorten looks for the fewest switches. The fewest faults are known: every class was run, and the orders of one class have
// the same faults.
func (x *exploration) shorten(ctx context.Context) error {
	for _, a := range scenarios.Anomalies() {
		v := x.best[a]
		if v == nil {
			continue
		}
		s := schedule.NewFewestSwitches(v.Faults)
		for i := 0; s.More() && s.Least().Switches < v.Switches; i++ {
			if i == mostProbes {
				return nil // not proved to be the shortest, and not said to be
			}
			err := x.probe(ctx, s)
			var cut cutError
			if ctx.Err() != nil || errors.As(err, &cut) || errors.Is(err, schedule.ErrDiverged) {
				return nil // the coverage stands; only the shortest is not proved
			}
			if err != nil {
				return err
			}
			v = x.best[a]
		}
		v.Minimal = true
	}
	return nil
}

// cheapestFirst marks what a full search has proved to be the shortest: everything cheaper was run.
func (x *exploration) cheapestFirst(s *schedule.Full) {
	for _, v := range x.best {
		v.Minimal = !s.More() || s.Least().Compare(schedule.Cost{Faults: v.Faults, Switches: v.Switches}) >= 0
	}
}

// note adds a judged run to the result.
func (x *exploration) note(j judged) {
	r := &x.result
	if j.run.Redundant {
		r.Redundant++
		return
	}
	r.Schedules++
	if x.e.o.Search == Random {
		r.Orders += (schedule.Stands(j.run) - r.Orders) / float64(r.Schedules) // the mean so far
	}
	if len(j.outcome.Anomalies) > 0 || j.outcome.Stuck {
		r.Violating++
	}
	for _, t := range j.trace {
		if t.Blocked {
			r.BlockedSteps++
		}
		fmt.Fprintf(x.print, "%d %+v\n", t.Session, t.event(schedule.Action{Session: t.Session, Kind: t.Kind}))
	}
	key := j.outcome.Key()
	r.keys[key] = true
	class := j.run.Class(x.e.o.relation)
	if r.classes[class] == nil {
		r.classes[class] = map[string]bool{}
	}
	r.classes[class][key] = true
	x.outcome(j)
	x.violations(j)
}

// outcome counts by what a reader of the result tells apart: captures, answers, anomalies, and what was left
// where that is the point.
func (x *exploration) outcome(j judged) {
	o := j.outcome
	key := fmt.Sprint(o.Captures, o.Answers, o.Anomalies, o.Stuck)
	if !x.e.o.Scenario.Acquirer {
		key += fmt.Sprint(rowWords(o.intent.Rows))
	}
	i, known := x.count[key]
	if !known {
		i = len(x.result.Outcomes)
		x.count[key] = i
		x.result.Outcomes = append(x.result.Outcomes, OutcomeCount{Outcome: o})
	}
	x.result.Outcomes[i].Schedules++
}

// violations keeps the cheapest schedule for each anomaly.
func (x *exploration) violations(j judged) {
	if j.run.Redundant {
		return
	}
	cost := j.run.Cost()
	for _, f := range j.outcome.Findings {
		old := x.best[f.Anomaly]
		if old != nil && cost.Compare(schedule.Cost{Faults: old.Faults, Switches: old.Switches}) >= 0 {
			continue
		}
		s := schedule.ScheduleOf(j.run)
		x.best[f.Anomaly] = &Violation{
			Anomaly: f.Anomaly, Detail: f.Detail, Schedule: s.String(), Short: s.Short(), Faults: cost.Faults, Switches: cost.Switches,
		}
	}
}
