package explore

import (
	"errors"
	"testing"

	"idemlab/scenarios"
)

// clients is a world at its end, in which each client made these attempts, one after another and all clients at once.
func clients(attempts ...[]scenarios.Attempt) *world {
	w := &world{trace: make([]Turn, 10), e: &engine{o: Options{Scenario: scenarios.ChargeOnce}}}
	for i, list := range attempts {
		s := &session{w: w, id: i, client: true, state: finished}
		for j, a := range list {
			s.told = append(s.told, told{Attempt: a, turn: 2*j + 2})
		}
		w.sessions = append(w.sessions, s)
	}
	return w
}

func TestTheOracleSeesWhatTheInvariantsSee(t *testing.T) {
	charged := scenarios.Attempt{Answer: scenarios.Charged, HTTP: 201, Body: "a"}
	other := scenarios.Attempt{Answer: scenarios.Charged, HTTP: 201, Body: "b"}
	replayed := scenarios.Attempt{Answer: scenarios.Replayed, HTTP: 201, Body: "a"}
	declined := scenarios.Attempt{Answer: scenarios.Declined, HTTP: 402, Body: "no"}
	progress := scenarios.Attempt{Answer: scenarios.InProgress, HTTP: 409}
	failed := scenarios.Attempt{Answer: scenarios.Failed, HTTP: 500}
	died := scenarios.Attempt{Died: true}
	type list = []scenarios.Attempt
	for _, c := range []struct {
		name     string
		clients  []list
		captures int
		legal    bool
	}{
		{"one charge, one replay", []list{{charged}, {replayed}}, 1, true},
		{"one charge, one told to wait", []list{{charged}, {progress}}, 1, true},
		{"charged twice", []list{{charged}, {charged}}, 2, false},
		{"charged once, told twice in the same words", []list{{charged}, {charged}}, 1, true},
		{"told differently", []list{{charged}, {other}}, 1, false},
		{"told of nothing", []list{{charged}, {progress}}, 0, false},
		{"nobody was told anything", []list{{failed, failed}, {died}}, 0, true},
		{"a death that charged", []list{{died, progress}}, 1, true},
		{"a death that charged, and a charge", []list{{died, charged}}, 2, false},
		{"an error that charged, then its replay", []list{{failed, replayed}}, 1, true},
		{"refused after money moved", []list{{charged, declined}}, 1, false},
		{"refused", []list{{declined}, {declined}}, 0, true},
	} {
		w := clients(c.clients...)
		in := scenarios.Intent{Captures: c.captures, Rows: []scenarios.Row{{Status: "CAPTURADA"}}}
		for _, l := range c.clients {
			in.Attempts = append(in.Attempts, l...)
		}
		o := Outcome{Captures: c.captures, intent: in}
		for _, f := range scenarios.ChargeOnce.Check(in) {
			o.Anomalies = append(o.Anomalies, f.Anomaly)
		}
		if err := w.secondOpinion(o); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		// The same history with the opposite verdict must be noticed.
		if c.legal {
			o.Anomalies = []scenarios.Anomaly{scenarios.DoubleCharge}
		} else {
			o.Anomalies = nil
		}
		if err := w.secondOpinion(o); !errors.Is(err, errOracle) {
			t.Errorf("%s: the oracle does not see the difference: %v", c.name, err)
		}
	}
}
