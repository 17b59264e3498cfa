package race

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"idemlab/internal/instance"
	"idemlab/internal/lockwait"
	"idemlab/results"
	"idemlab/scenarios"
)

// mostBlocked bounds how many blocked statements a document names one by one.
const mostBlocked = 200

// fill writes the measured part of the document: counts, answers, waits and anomalies, without a verdict.
func (ev *evidence) fill(run *results.Run) {
	counts, rounds := ev.count()
	givenUp := ev.givenUp()
	counts.AttemptsGivenUp = &givenUp
	run.Counts, run.Rounds = &counts, rounds
	run.Answers, run.SQLStates = ev.answers()
	if ev.options.Scenario.Followups {
		f := ev.followups()
		run.Followups = &f
	}
	r := results.MS(racing(ev.intents))
	run.RacingMS = &r
	o := overlap(ev.intents)
	run.Overlap = &o
	w := ev.waits()
	run.Waits = &w
	l := ev.latency()
	run.Latency = &l
	run.Anomalies = ev.anomalies()
}

func (ev *evidence) count() (results.Counts, []results.Round) {
	var c results.Counts
	s, rounds := ev.options.Scenario, make([]results.Round, ev.options.Rounds)
	for _, out := range ev.intents {
		c.Intents++
		rounds[out.round].Intents++
		c.Attempts += len(out.attempts)
		if s.Measure == nil || ev.rows == nil {
			continue
		}
		if c.Measures == nil {
			c.Measures = map[string]int64{}
		}
		for name, n := range s.Measure(ev.facts(out)) {
			c.Measures[name] += n
		}
	}
	if !s.Acquirer {
		return c, rounds
	}
	charged, counts := ev.acquirerCounts(rounds)
	c.IntentsCharged, c.AcquirerCounts = &charged, &counts
	return c, rounds
}

// acquirerCounts compares what the acquirer was told with what the table says, and books it on the rounds.
func (ev *evidence) acquirerCounts(rounds []results.Round) (charged int, c results.AcquirerCounts) {
	for i := range rounds {
		rounds[i].RoundCharges = &results.RoundCharges{}
	}
	var money results.MoneyCounts
	if ev.options.Effect.Words().Cents {
		c.MoneyCounts = &money
	}
	var rows, duplicateRows, orphans, withoutRecord int
	for _, out := range ev.intents {
		l, r, in := ev.ledger[out.req.Key], &rounds[out.round], ev.facts(out)
		duplicates := in.TooMany()
		c.CaptureRequests += l.Requests
		c.Captures += l.Captures
		c.Declines += l.Declines
		c.DuplicateCaptures += duplicates
		money.CapturedCents += l.CapturedCents
		if l.Captures > 0 {
			charged++
			money.OwedCents += out.req.AmountCents * int64(in.Wishes())
		}
		r.Captures += l.Captures
		r.DuplicateCaptures += duplicates
		if duplicates > 0 {
			c.IntentsDoubleCharged++
			r.IntentsDoubleCharged++
		}
		rows += len(in.Rows)
		duplicateRows += in.RowsTooMany()
		for _, f := range ev.options.Scenario.Check(in) {
			switch f.Anomaly {
			case scenarios.Orphan:
				orphans += f.Count
			case scenarios.ChargedWithoutRecord:
				withoutRecord += f.Count
			case scenarios.AnsweredWithoutCharge:
				c.AnsweredWithoutCharge += f.Count
			}
		}
	}
	if ev.rows != nil { // what could not be read is absent, not zero
		c.Rows, c.DuplicateRows, c.Orphans, c.ChargedWithoutRecord = &rows, &duplicateRows, &orphans, &withoutRecord
	}
	return charged, c
}

func (ev *evidence) answers() (kinds, states map[string]int) {
	kinds, states = map[string]int{}, map[string]int{}
	for _, a := range ev.options.Scenario.Answers {
		kinds[string(a)] = 0
	}
	for _, out := range ev.intents {
		for _, r := range out.attempts {
			kinds[string(r.Answer)]++
			if r.SQLState != "" {
				states[r.SQLState]++
			}
		}
	}
	return kinds, states
}

func (ev *evidence) followups() results.Followups {
	f := results.Followups{OtherCharges: &results.OtherCharges{}}
	for _, out := range ev.intents {
		f.Repeats++
		if out.repeat.Answer == scenarios.Replayed && sameAsFirst(out) {
			f.ReplayedSameBytes++
		}
		f.Mismatches++
		if out.mismatch.Answer == scenarios.Mismatched {
			f.Refused++
		}
		f.Others++
		if out.otherAnswer.Answer == scenarios.Charged && ev.ledger[out.other.Key].Captures == 1 {
			f.OthersCharged++
		}
	}
	return f
}

// sameAsFirst says whether the repeat was told what the attempt that did the work was told.
func sameAsFirst(out outcome) bool {
	return slices.ContainsFunc(out.attempts, func(r instance.Record) bool {
		first := r.Answer == scenarios.Charged || r.Answer == scenarios.Declined
		return first && r.HTTP == out.repeat.HTTP && r.Body == out.repeat.Body
	})
}

func (ev *evidence) anomalies() []results.Anomaly {
	found := []results.Anomaly{}
	for _, out := range ev.intents {
		for _, f := range ev.options.Scenario.Check(ev.facts(out)) {
			a := results.Anomaly{Kind: string(f.Anomaly), Intent: out.req.Key, Detail: f.Detail}
			if ev.options.Scenario.Acquirer {
				n := ev.ledger[out.req.Key].Captures
				a.Captures = &n
			}
			found = append(found, a)
		}
	}
	return found
}

func (ev *evidence) latency() results.Latency {
	var took []time.Duration
	for _, out := range ev.intents {
		for _, r := range out.attempts {
			took = append(took, r.Answered.Sub(r.Called))
		}
	}
	return results.Latency{N: len(took), Percentiles: results.PercentilesOf(took)}
}

func (ev *evidence) waits() results.Waits {
	statements, holds, pool := ev.timeline()
	blocked := lockwait.Join(ev.samples.Waits, statements, holds)
	server, client := make([]time.Duration, 0, len(blocked)), make([]time.Duration, 0, len(blocked))
	w := results.Waits{Pool: results.Distribute(pool), Events: events(ev.samples)}
	for i, b := range blocked {
		server, client = append(server, b.Server), append(client, b.Client)
		if i < mostBlocked {
			w.Blocked = append(w.Blocked, results.Blocked{
				Waiter: b.Waiter, Step: b.Step, Event: b.Event, For: b.For,
				ServerMS: results.MS(b.Server), ClientMS: results.MS(b.Client),
			})
		}
	}
	w.Lock.Distribution = results.Distribute(server)
	if len(client) > 0 {
		c := results.Distribute(client)
		w.Lock.Client = &c
	}
	w.Sampling = sampling(ev.samples)
	return w
}

// timeline lays the attempts' statements and connections side by side, under the names that reports use.
func (ev *evidence) timeline() (statements []lockwait.Statement, holds []lockwait.Hold, pool []time.Duration) {
	for _, out := range ev.intents {
		for i, r := range out.attempts {
			who := fmt.Sprintf("intent %d attempt %d", out.number, i+1)
			for _, s := range r.Statements {
				statements = append(statements, lockwait.Statement{Who: who, Step: s.Step, PID: s.PID, Start: s.Start, End: s.End})
			}
			for _, h := range r.Holds {
				holds = append(holds, lockwait.Hold{Who: who, PID: h.PID, From: h.From, To: h.To})
			}
			pool = append(pool, r.PoolWaits...)
		}
	}
	return statements, holds, pool
}

func events(s lockwait.Samples) []results.Event {
	list := []results.Event{}
	for _, name := range slices.Sorted(maps.Keys(s.Events)) {
		c := s.Events[name]
		list = append(list, results.Event{Event: name, Samples: c.Samples, MaxWaiters: c.MaxWaiters})
	}
	return list
}

func sampling(s lockwait.Samples) *results.Sampling {
	if s.Polls == 0 {
		return nil
	}
	return &results.Sampling{
		IntervalMS: results.MS(lockwait.Interval), Polls: s.Polls,
		PollMeanMS: results.MS(s.Cost / time.Duration(s.Polls)), PollMaxMS: results.MS(s.Worst),
	}
}
