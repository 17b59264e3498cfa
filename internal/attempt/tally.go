package attempt

import (
	"context"
	"idemlab/internal/acquirer"
	"idemlab/results"
	"idemlab/scenarios"
)

// Tally is what the ledger and the table say at one moment.
type Tally struct {
	Facts  []scenarios.Intent // in the order of the intents
	Counts results.Counts
	Stage  results.Stage
}

// Tally compares the ledger with the table.
func (l *Lab) Tally(ctx context.Context, name string) (Tally, error) {
	rows, err := l.Rows(ctx)
	if err != nil {
		return Tally{}, err
	}
	t := Tally{Stage: results.Stage{Name: name}}
	ledger := l.Acquirer.Counts()
	var charged int
	var duplicateRows, allRows, orphans, withoutRecord int
	c := &results.AcquirerCounts{Rows: &allRows, DuplicateRows: &duplicateRows, Orphans: &orphans, ChargedWithoutRecord: &withoutRecord, MoneyCounts: &results.MoneyCounts{}}
	for _, it := range l.Intents {
		in := facts(it, ledger[it.Request.Key], rows[it.Request.OrderID])
		t.Facts = append(t.Facts, in)
		addTo(&t.Stage, in)
		t.Counts.Attempts += len(it.Attempts)
		c.CaptureRequests += in.Requests
		c.Captures += in.Captures
		c.Declines += in.Declines
		c.CapturedCents += in.CapturedCents
		c.DuplicateCaptures += max(0, in.Captures-1)
		if in.Captures > 0 {
			charged++
			c.OwedCents += it.Request.AmountCents
		}
		if in.Captures > 1 {
			c.IntentsDoubleCharged++
		}
		allRows += len(in.Rows)
		duplicateRows += max(0, len(in.Rows)-1)
		for _, f := range l.config.Strategy.Scenario().Check(in) {
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
	t.Counts.Intents, t.Counts.IntentsCharged, t.Counts.AcquirerCounts = len(l.Intents), &charged, c
	return t, nil
}

// facts is an intent as the invariants want it.
func facts(it *Intent, c acquirer.Count, rows []scenarios.Row) scenarios.Intent {
	return scenarios.Intent{
		Request: it.Request, Clients: 1, RowsUnknown: it.Purged, Attempts: it.Attempts, Rows: rows,
		Requests: c.Requests, Captures: c.Captures, Declines: c.Declines, CapturedCents: c.CapturedCents,
	}
}

func addTo(s *results.Stage, in scenarios.Intent) {
	var recorded int
	var cents int64
	for _, r := range in.Rows {
		switch r.Status {
		case "CAPTURADA":
			recorded++
			cents += r.AmountCents
		case "PROCESSANDO":
			s.Orphans++
		}
	}
	s.Captures += in.Captures
	s.CapturedCents += in.CapturedCents
	s.Recorded += recorded
	s.RecordedCents += cents
	if !in.RowsUnknown {
		s.WithoutRecord += max(0, in.Captures-recorded)
		s.WithoutRecordCents += max(0, in.CapturedCents-cents)
	}
	if in.Captures > 1 {
		s.IntentsDoubleCharged++
	}
}

// Anomalies are what the scenario's invariants say of a tally.
func (l *Lab) Anomalies(t Tally) []results.Anomaly {
	found := []results.Anomaly{}
	for _, in := range t.Facts {
		for _, f := range l.config.Strategy.Scenario().Check(in) {
			captures := in.Captures
			found = append(found, results.Anomaly{
				Kind: string(f.Anomaly), Intent: in.Request.Key, Captures: &captures, Detail: f.Detail,
			})
		}
	}
	return found
}
