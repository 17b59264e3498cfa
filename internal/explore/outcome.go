package explore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"idemlab/scenarios"
)

// Outcome is what a schedule came to.
type Outcome struct {
	Captures  int
	Answers   []scenarios.Answer // the last of each client, sorted
	Anomalies []scenarios.Anomaly
	Findings  []scenarios.Finding
	Stuck     bool // sessions waited that nobody would have let go: they never answer
	intent    scenarios.Intent
	detail    string
}

// Key tells outcomes apart, as finely as anybody outside could: every answer of every client, and the rows.
func (o Outcome) Key() string { return o.detail }

// outcome judges the world at its end.
func (w *world) outcome(ctx context.Context) (Outcome, []scenarios.Row, error) {
	rows, err := w.e.rows(ctx)
	if err != nil {
		return Outcome{}, nil, err
	}
	in := scenarios.Intent{Request: w.req, Clients: w.e.o.Sessions, Rows: rows}
	count := w.ledger.Counts()[intent]
	in.Requests, in.Captures, in.Declines, in.CapturedCents = count.Requests, count.Captures, count.Declines, count.CapturedCents
	in.Tenants = w.ledger.Tenants()[intent]
	o := Outcome{Captures: in.Captures, Stuck: w.stuck()}
	var all [][]told
	for _, s := range w.sessions {
		told := s.outcomes()
		all = append(all, told)
		if !s.client {
			continue
		}
		for _, t := range told {
			in.Attempts = append(in.Attempts, t.Attempt)
		}
		if last := told[len(told)-1]; !last.Died {
			o.Answers = append(o.Answers, last.Answer)
		}
	}
	slices.Sort(o.Answers)
	o.Findings = w.e.o.Scenario.Check(in)
	for _, f := range o.Findings {
		o.Anomalies = append(o.Anomalies, f.Anomaly)
	}
	o.intent, o.detail = in, o.spell(all, rows)
	return o, rows, nil
}

// outcomes are the session's attempts, one that never ended among them.
func (s *session) outcomes() []told {
	if s.state == finished {
		return s.told
	}
	return append(slices.Clone(s.told), told{Attempt: scenarios.Attempt{Died: true, Tenant: s.tenant}})
}

// spell tells the whole outcome. Rows are numbered from 1: sequences skip what was rolled back.
func (o Outcome) spell(sessions [][]told, rows []scenarios.Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "captures=%d stuck=%v", o.Captures, o.Stuck)
	for i, told := range sessions {
		fmt.Fprintf(&b, " %c:", 'A'+rune(i))
		for _, t := range told {
			if t.Died {
				b.WriteString(" died")
				continue
			}
			fmt.Fprintf(&b, " %s%s/%d%s", t.Answer, t.state, t.HTTP, t.Body)
		}
	}
	for i, r := range rows {
		fmt.Fprintf(&b, " row%d:%s/%d%s", i+1, r.Status, r.HTTP, r.Body)
	}
	fmt.Fprintf(&b, " %v", o.Anomalies)
	return b.String()
}
