package check

import (
	"testing"

	"idemlab/scenarios"
)

// charged, replayed and the rest are what a client is told of the charge with that receipt.
func charged(receipt string) Attempt {
	return Attempt{Answer: scenarios.Charged, HTTP: 201, Body: receipt}
}
func replayed(receipt string) Attempt {
	return Attempt{Answer: scenarios.Replayed, HTTP: 201, Body: receipt}
}
func told(a scenarios.Answer, http int) Attempt { return Attempt{Answer: a, HTTP: http} }

func row(status string) Row { return Row{Status: status} }

func TestChargeFindsExactlyWhatIsWrong(t *testing.T) {
	inProgress := told(scenarios.InProgress, 409)
	failed := told(scenarios.Failed, 500)
	died := Attempt{Died: true}
	other := Attempt{Answer: scenarios.Mismatched, HTTP: 422, Followup: true, OtherAmount: true}
	otherAnswered := Attempt{Answer: scenarios.Replayed, HTTP: 201, Body: "cap-1", Followup: true, OtherAmount: true}

	for name, c := range map[string]struct {
		in   Intent
		want map[scenarios.Anomaly]int
	}{
		"one charge, a 409, a replay": {Intent{
			Attempts: []Attempt{charged("cap-1"), inProgress, replayed("cap-1"), other},
			Rows:     []Row{row("CAPTURADA")}, Requests: 1, Captures: 1}, nil},
		"declined and replayed": {Intent{
			Attempts: []Attempt{told(scenarios.Declined, 402), {Answer: scenarios.Replayed, HTTP: 402}},
			Rows:     []Row{row("RECUSADA")}, Requests: 1, Declines: 1}, nil},
		"three charges": {Intent{
			Attempts: []Attempt{charged("cap-1"), charged("cap-2"), charged("cap-3")},
			Rows:     []Row{row("CAPTURADA"), row("CAPTURADA"), row("CAPTURADA")}, Requests: 3, Captures: 3},
			map[scenarios.Anomaly]int{scenarios.DoubleCharge: 2, scenarios.DivergentAnswers: 2}},
		"the table is clean and the customer paid twice": {Intent{
			Attempts: []Attempt{charged("cap-1"), failed},
			Rows:     []Row{row("CAPTURADA")}, Requests: 2, Captures: 2},
			map[scenarios.Anomaly]int{scenarios.DoubleCharge: 1, scenarios.ChargedWithoutRecord: 1, scenarios.ErrorToDuplicate: 1}},
		"told of a charge that never happened": {Intent{
			Attempts: []Attempt{charged("cap-1")}, Rows: []Row{row("CAPTURADA")}},
			map[scenarios.Anomaly]int{scenarios.AnsweredWithoutCharge: 1, scenarios.MissingCharge: 1}},
		"everybody turned away": {Intent{Attempts: []Attempt{failed, failed}},
			map[scenarios.Anomaly]int{scenarios.MissingCharge: 1}},
		"the worker died after the money moved": {Intent{
			Attempts: []Attempt{died, inProgress}, Rows: []Row{row("PROCESSANDO")}, Requests: 1, Captures: 1},
			map[scenarios.Anomaly]int{scenarios.ChargedWithoutRecord: 1, scenarios.Orphan: 1}},
		"the worker died before": {Intent{
			Attempts: []Attempt{died, inProgress}, Rows: []Row{row("PROCESSANDO")}},
			map[scenarios.Anomaly]int{scenarios.Orphan: 1}},
		"an error that served nobody is no error to a duplicate": {Intent{
			Attempts: []Attempt{failed, inProgress}, Rows: []Row{row("PROCESSANDO")}, Requests: 1},
			map[scenarios.Anomaly]int{scenarios.Orphan: 1}},
		"another amount under the key is answered": {Intent{
			Attempts: []Attempt{charged("cap-1"), otherAnswered},
			Rows:     []Row{row("CAPTURADA")}, Requests: 1, Captures: 1},
			map[scenarios.Anomaly]int{scenarios.DivergentAnswers: 1}},
		"another charge of the order goes its own way": {Intent{
			Attempts: []Attempt{charged("cap-1")}, Rows: []Row{row("CAPTURADA")}, Requests: 1, Captures: 1,
			Other: &Other{Answer: scenarios.Charged, Captures: 1}}, nil},
		"another charge of the order is declined": {Intent{
			Attempts: []Attempt{charged("cap-1")}, Rows: []Row{row("CAPTURADA")}, Requests: 1, Captures: 1,
			Other: &Other{Answer: scenarios.Declined, Declines: 1}}, nil},
		"another charge of the order is taken for the first": {Intent{
			Attempts: []Attempt{charged("cap-1")}, Rows: []Row{row("CAPTURADA")}, Requests: 1, Captures: 1,
			Other: &Other{Answer: scenarios.Replayed}}, map[scenarios.Anomaly]int{scenarios.MissingCharge: 1}},
		"another charge of the order moves money twice": {Intent{
			Attempts: []Attempt{charged("cap-1")}, Rows: []Row{row("CAPTURADA")}, Requests: 1, Captures: 1,
			Other: &Other{Answer: scenarios.Charged, Captures: 2}}, map[scenarios.Anomaly]int{scenarios.DoubleCharge: 1}},
		"409 for ever": {Intent{
			Attempts: []Attempt{charged("cap-1"), inProgress, {Answer: scenarios.InProgress, HTTP: 409, Followup: true}, other},
			Rows:     []Row{row("CAPTURADA")}, Requests: 1, Captures: 1},
			map[scenarios.Anomaly]int{scenarios.DivergentAnswers: 1}},
		"409 while it is open": {Intent{
			Attempts: []Attempt{failed, {Answer: scenarios.InProgress, HTTP: 409, Followup: true}, other},
			Rows:     []Row{row("PROCESSANDO")}, Requests: 1, Captures: 1},
			map[scenarios.Anomaly]int{scenarios.Orphan: 1, scenarios.ChargedWithoutRecord: 1}},
		"another amount is told to wait": {Intent{
			Attempts: []Attempt{charged("cap-1"), replayed("cap-1"), {Answer: scenarios.InProgress, HTTP: 409, Followup: true, OtherAmount: true}},
			Rows:     []Row{row("CAPTURADA")}, Requests: 1, Captures: 1},
			map[scenarios.Anomaly]int{scenarios.DivergentAnswers: 1}},
		"a row of another amount records nothing": {Intent{
			Attempts: []Attempt{charged("cap-1")}, CapturedCents: 25000,
			Rows: []Row{{Status: "CAPTURADA", AmountCents: 50000}}, Requests: 1, Captures: 1},
			map[scenarios.Anomaly]int{scenarios.ChargedWithoutRecord: 1}},
		"rows that could not be read prove nothing": {Intent{
			Attempts: []Attempt{charged("cap-1")}, RowsUnknown: true, Requests: 1, Captures: 1}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[scenarios.Anomaly]int{}
			for _, f := range Charge(c.in) {
				got[f.Anomaly] = f.Count
				if f.Detail == "" {
					t.Errorf("%s without words", f.Anomaly)
				}
			}
			for a, n := range c.want {
				if got[a] != n {
					t.Errorf("%s: %d, want %d", a, got[a], n)
				}
			}
			for a := range got {
				if c.want[a] == 0 {
					t.Errorf("%s found, nothing of the kind is wrong", a)
				}
			}
		})
	}
}
