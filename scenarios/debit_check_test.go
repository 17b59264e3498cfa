package scenarios

import (
	"fmt"
	"testing"
)

// account is a case of two clients: 37,500 cents, and debits of 25,000.
func account(closing int64, entries int, attempts ...Attempt) Intent {
	in := Intent{Request: Request{Key: "k", AmountCents: 25000}, Clients: 2, Attempts: attempts, Rows: []Row{{AmountCents: closing}}}
	for i := range entries {
		in.Rows = append(in.Rows, Row{ID: int64(i + 1), Key: fmt.Sprintf("k-%d", i+1), AmountCents: 25000})
	}
	return in
}

func TestDebitFindsExactlyWhatIsWrong(t *testing.T) {
	yes, no := Attempt{Answer: Charged, HTTP: 201, Body: `{"tentativas": 3}`}, Attempt{Answer: Declined, HTTP: 402}
	failed, died := Attempt{Answer: Failed, HTTP: 500}, Attempt{Died: true}
	twice := account(12500, 1, died, yes, no)
	twice.Rows = append(twice.Rows, Row{ID: 2, Key: "k-1"})
	unknown := account(99, 7, yes)
	unknown.RowsUnknown = true

	for name, c := range map[string]struct {
		in   Intent
		want map[Anomaly]int
	}{
		"one accepted, one refused":                    {account(12500, 1, yes, no), nil},
		"one accepted, one told of an error":           {account(12500, 1, yes, failed), nil},
		"the one that died was debited":                {account(12500, 1, died, no), nil},
		"the one that died was not":                    {account(37500, 0, died, died), nil},
		"both read the same balance":                   {account(12500, 2, yes, yes), map[Anomaly]int{LostUpdate: 1, Overdraft: 1}},
		"both accepted, one after the other":           {account(-12500, 2, yes, yes), map[Anomaly]int{Overdraft: 1}},
		"refused, and the money is there":              {account(37500, 0, no, no), map[Anomaly]int{MissingCharge: 2}},
		"nobody was told yes or no":                    {account(37500, 0, failed, failed), map[Anomaly]int{MissingCharge: 1}},
		"gone without an entry":                        {account(12500, 0, died, failed), map[Anomaly]int{ChargedWithoutRecord: 1}},
		"told of a debit that is not entered":          {account(37500, 0, yes, failed), map[Anomaly]int{AnsweredWithoutCharge: 1}},
		"debited and told no":                          {account(12500, 1, no, no), map[Anomaly]int{DivergentAnswers: 1}},
		"one key, two entries":                         {twice, map[Anomaly]int{DoubleCharge: 1}},
		"what could not be read proves nothing":        {unknown, nil},
		"an amount that is no whole number of debits":  {account(12501, 1, yes, no), map[Anomaly]int{LostUpdate: 1}},
		"the balance below zero, and no entry says so": {account(-12500, 1, yes, failed), map[Anomaly]int{Overdraft: 1, ChargedWithoutRecord: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, Debit.Check(c.in), c.want)
			// The model must take exception to the same, in whatever order they came: here, in the order in which they stand.
			if !c.in.RowsUnknown {
				seen := false
				for _, a := range debitModel.Sees {
					seen = seen || c.want[a] > 0
				}
				if legal := sequential(debitModel, c.in); legal == seen {
					t.Errorf("the model says legal: %v", legal)
				}
			}
		})
	}
	if got := Debit.Measure(account(12500, 2, yes, yes)); got["unaccounted_cents"] != 25000 || got["retries"] != 4 || got["debited_cents"] != 50000 {
		t.Errorf("measures %v", got)
	}
}

// sequential says whether a service of the model could have given the answers, one after another.
func sequential(m Model, in Intent) bool {
	states := []any{m.Init(in)}
	for _, a := range in.Attempts {
		var next []any
		for _, s := range states {
			next = append(next, m.Attempt(s, a)...)
		}
		states = next
	}
	for _, s := range states {
		if m.End(s, in) {
			return true
		}
	}
	return false
}

func compare(t *testing.T, found []Finding, want map[Anomaly]int) {
	t.Helper()
	got := map[Anomaly]int{}
	for _, f := range found {
		got[f.Anomaly] = f.Count
		if f.Detail == "" {
			t.Errorf("%s without words", f.Anomaly)
		}
	}
	for a, n := range want {
		if got[a] != n {
			t.Errorf("%s: %d, want %d", a, got[a], n)
		}
	}
	for a := range got {
		if want[a] == 0 {
			t.Errorf("%s found, nothing of the kind is wrong: %v", a, found)
		}
	}
}

// Each client has a debit of its own, and tries that one again.
func TestDebitsHaveKeysOfTheirOwn(t *testing.T) {
	of := Request{Key: "k", OrderID: 7, AmountCents: 1}
	a, b := Debit.Request(of, 0), Debit.Request(of, 1)
	if a.Key == b.Key || a != Debit.Request(of, 0) || a.OrderID != 7 || b.AmountCents != 1 {
		t.Errorf("%+v, %+v", a, b)
	}
	if ChargeOnce.Request(of, 1) != of || Resource.Request(of, 1) != of {
		t.Error("a repetition differs from what it repeats")
	}
	for clients := 1; clients < 5; clients++ {
		if o := opening(25000, clients); o < 25000 || clients > 1 && o >= 25000*int64(clients) {
			t.Errorf("%d clients: an account of %d has no debit to accept, or none to refuse", clients, o)
		}
	}
}
