package consume

import (
	"idemlab/internal/acquirer"
	"idemlab/results"
	"idemlab/scenarios"
)

// begun are the charges that a consumer began on: of the others there is nothing to judge.
func (ev *evidence) begun() []*charge {
	var list []*charge
	for _, c := range ev.book.charges {
		if c.begun > 0 {
			list = append(list, c)
		}
	}
	return list
}

// fill writes the measured part of the document, without a verdict.
func (ev *evidence) fill(run *results.Run) {
	b := ev.book
	run.Answers, run.SQLStates = ev.answers()
	counts, found := ev.counts()
	run.Counts, run.Anomalies = counts, found
	c := &results.Consume{
		Settings: ev.options.settings(ev.version),
		Messages: b.published, DoublePublishes: b.doubles,
		Deliveries: b.deliveries, Redeliveries: b.redeliveries, RanOut: b.ranOut, Repeated: b.repeated,
		Kills: results.ConsumeKills{
			Planned: b.planned, Made: b.killed[beforeClaim] + b.killed[afterCapture] + b.killed[beforeAck],
			BeforeClaim: b.killed[beforeClaim], AfterCapture: b.killed[afterCapture], BeforeAck: b.killed[beforeAck],
		},
		AttemptsDied: b.died, TooLate: b.late,
		Orphans: results.ConsumeOrphans(b.orphans),
		Hazard:  string(ev.hazard()),
	}
	for _, x := range b.charges {
		if x.overlapped {
			c.Overlapped++
		}
	}
	if ev.options.Broker.Dedup > 0 {
		c.Deduplicated = &b.dropped
	}
	ev.endings(c)
	run.Consume = c
}

// endings says what became of the messages: by the broker's word where it could be asked, else by the consumers'.
func (ev *evidence) endings(c *results.Consume) {
	c.DeadLettered, c.Unfinished = ev.book.setAside, ev.book.open
	if ev.left != nil {
		// RabbitMQ moves a dead letter a moment after it was told to, and a consumer may be killed before it can say that it did.
		c.DeadLettered, c.Unfinished = max(ev.left.Dead, ev.book.setAside), ev.left.Waiting
	}
	c.Acknowledged = c.Messages - c.DeadLettered - c.Unfinished
}

func (ev *evidence) answers() (kinds, states map[string]int) {
	kinds, states = map[string]int{}, map[string]int{}
	for _, a := range ev.options.Scenario.Answers {
		kinds[string(a)] = 0
	}
	for _, c := range ev.book.charges {
		for _, a := range c.attempts {
			if !a.Died {
				kinds[string(a.Answer)]++
			}
		}
		for _, s := range c.states {
			states[s]++
		}
	}
	return kinds, states
}

// counts compares what the acquirer was told with what the table says, and lets the scenario's checker judge each charge.
func (ev *evidence) counts() (*results.Counts, []results.Anomaly) {
	charged := 0
	c := &results.Counts{IntentsCharged: &charged, AcquirerCounts: &results.AcquirerCounts{MoneyCounts: &results.MoneyCounts{}}}
	found := []results.Anomaly{}
	var rows, duplicateRows, orphans, withoutRecord int
	for _, x := range ev.begun() {
		l := ev.ledger[x.req.Key]
		c.Intents++
		c.Attempts += len(x.attempts)
		if l.Captures > 0 {
			charged++
			c.OwedCents += x.req.AmountCents
		}
		add(c.AcquirerCounts, l)
		n := len(ev.rows[x.req.OrderID])
		rows += n
		duplicateRows += max(0, n-1)
		for _, f := range ev.options.Scenario.Check(ev.facts(x, l)) {
			if f.Anomaly != scenarios.DoubleCharge && ev.book.atWorkStill(x) {
				continue // what is half done when a run is broken off is the breaking's
			}
			switch f.Anomaly {
			case scenarios.Orphan:
				orphans += f.Count
			case scenarios.ChargedWithoutRecord:
				withoutRecord += f.Count
			case scenarios.AnsweredWithoutCharge:
				c.AnsweredWithoutCharge += f.Count
			}
			found = append(found, results.Anomaly{Kind: string(f.Anomaly), Intent: x.req.Key, Captures: &l.Captures, Detail: f.Detail})
		}
	}
	if ev.rows != nil { // what could not be read is absent, not zero
		c.Rows, c.DuplicateRows, c.Orphans, c.ChargedWithoutRecord = &rows, &duplicateRows, &orphans, &withoutRecord
	}
	return c, found
}

func add(c *results.AcquirerCounts, l acquirer.Count) {
	duplicates := max(0, l.Captures-1)
	c.CaptureRequests += l.Requests
	c.Captures += l.Captures
	c.Declines += l.Declines
	c.DuplicateCaptures += duplicates
	c.CapturedCents += l.CapturedCents
	if duplicates > 0 {
		c.IntentsDoubleCharged++
	}
}

// facts is a charge as the invariants want it.
func (ev *evidence) facts(c *charge, l acquirer.Count) scenarios.Intent {
	return scenarios.Intent{
		Request: c.req, Clients: 1, Attempts: c.attempts, Rows: ev.rows[c.req.OrderID], RowsUnknown: ev.rows == nil,
		Requests: l.Requests, Captures: l.Captures, Declines: l.Declines, CapturedCents: l.CapturedCents,
	}
}
