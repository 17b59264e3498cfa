package scenarios

import (
	"encoding/json"
	"fmt"
)

// ledger is one account as it stands in the end, beside what its clients were told.
type ledger struct {
	opening, entered, closing int64 // entered: by the rows of lancamento
	amount                    int64 // of each debit
	entries, twice            int   // entries, and those of a key that has another
	accepted, declined        int   // told so
	unsure, lived, retries    int   // unsure: died, or told of an error
}

func ledgerOf(in Intent) ledger {
	l := ledger{opening: opening(in.Request.AmountCents, in.Clients), amount: in.Request.AmountCents}
	seen := map[string]bool{}
	for _, r := range in.Rows {
		if r.Key == "" { // the account; every entry has a key
			l.closing = r.AmountCents
			continue
		}
		l.entries++
		l.entered += r.AmountCents
		if seen[r.Key] {
			l.twice++
		}
		seen[r.Key] = true
	}
	for _, a := range in.Attempts {
		switch {
		case a.Died:
			l.unsure++
			continue
		case a.Answer == Charged:
			l.accepted++
		case a.Answer == Declined:
			l.declined++
		default:
			l.unsure++
		}
		l.lived++
		var told debitAnswer
		if json.Unmarshal([]byte(a.Body), &told) == nil && told.Tries > 1 {
			l.retries += told.Tries - 1
		}
	}
	return l
}

// appeared is the money that is there and should not be: what debits that were overwritten had taken. Below zero it is gone
// without an entry.
func (l ledger) appeared() int64 { return l.closing - (l.opening - l.entered) }

// debits is how many debits an amount comes to, any rest counted as one.
func (l ledger) debits(cents int64) int { return int((cents + l.amount - 1) / l.amount) }

// turnedAway says that nobody was told yes or no, and nobody will ask again.
func (l ledger) turnedAway() bool {
	return l.accepted+l.declined+l.entries == 0 && l.lived > 0 && l.lived == l.unsure
}

// checkDebit judges one account by the invariants of the scenario debit: what was there is still there or was debited, and no
// more was given out than there was.
func checkDebit(in Intent) []Finding {
	if in.RowsUnknown {
		return nil // without the balance there is nothing to say
	}
	var found []Finding
	add := func(a Anomaly, n int, format string, args ...any) {
		if n > 0 {
			found = append(found, Finding{a, n, fmt.Sprintf(format, args...)})
		}
	}
	l := ledgerOf(in)
	add(DoubleCharge, l.twice, "%d too many under a key that has an entry", l.twice)
	add(LostUpdate, l.debits(l.appeared()), "%s entered, %d cents, and the balance went from %d to %d: %d cents were spent and are still there",
		count(l.entries, "debit"), l.entered, l.opening, l.closing, l.appeared())
	add(Overdraft, max(l.debits(l.entered-l.opening), l.debits(-l.closing)), "%d cents given out, and there were %d; the balance is %d",
		l.entered, l.opening, l.closing)
	add(ChargedWithoutRecord, l.debits(-l.appeared()), "%d cents left the account without an entry", -l.appeared())
	add(AnsweredWithoutCharge, l.accepted-l.entries, "%s told of a debit, %s entered", count(l.accepted, "client"), count(l.entries, "debit"))
	add(DivergentAnswers, l.entries-l.accepted-l.unsure, "%s entered, %s told of one", count(l.entries, "debit"), count(l.accepted, "client"))
	if l.closing >= l.amount { // it has never been less
		add(MissingCharge, l.declined, "%s refused for want of funds, and %d cents are there", count(l.declined, "debit"), l.closing)
	}
	if l.turnedAway() {
		add(MissingCharge, 1, "no debit was accepted or refused: %s told of an error", count(l.lived, "client"))
	}
	return found
}

// measureDebit is the account's own arithmetic, to be read without the checker.
func measureDebit(in Intent) map[string]int64 {
	l := ledgerOf(in)
	return map[string]int64{
		"opening_cents": l.opening, "debited_cents": l.entered, "closing_cents": l.closing, "unaccounted_cents": l.appeared(),
		"retries": int64(l.retries),
	}
}

// debitModel is an account that takes one debit after another.
var debitModel = Model{
	Init: func(in Intent) any {
		return accountState{opening(in.Request.AmountCents, in.Clients), in.Request.AmountCents}
	},
	Attempt: func(state any, a Attempt) []any { return state.(accountState).attempted(a) },
	End: func(state any, in Intent) bool {
		l := ledgerOf(in)
		s := state.(accountState)
		return s.balance == l.closing && s.balance == l.opening-l.entered && !l.turnedAway()
	},
	Sees: []Anomaly{LostUpdate, Overdraft, ChargedWithoutRecord, AnsweredWithoutCharge, DivergentAnswers, MissingCharge},
}

type accountState struct{ balance, amount int64 }

func (s accountState) attempted(a Attempt) []any {
	left := accountState{s.balance - s.amount, s.amount}
	enough := left.balance >= 0
	switch {
	case !a.Died && a.Answer == Charged && enough:
		return []any{left}
	case !a.Died && a.Answer == Charged, !a.Died && a.Answer == Declined && enough:
		return nil
	case !a.Died && a.Answer == Declined, !enough:
		return []any{s}
	}
	return []any{s, left} // whoever died or was told of an error may have been debited
}
