package race

import (
	"idemlab/internal/intents"
	"idemlab/scenarios"
)

// intent is one wish to pay, and the number by which reports call it.
type intent struct {
	number int // from 1, over all rounds
	round  int // from 0
	req    scenarios.Request
	other  scenarios.Request // another wish: the same order charged once more, legitimately, under a key of its own
}

const (
	amountCents = intents.AmountCents
	firstOrder  = intents.FirstOrder
)

// newIntent makes the intent of that number: the same run has the same keys.
func newIntent(seed uint64, number, round int) intent {
	req, r := intents.Rand(seed, uint64(number))
	other := req
	other.Key = intents.Key(r)
	other.Installment++
	return intent{number: number, round: round, req: req, other: other}
}

// otherAmount is the same key for another amount: another operation, which must be refused.
func (i intent) otherAmount() scenarios.Request {
	r := i.req
	r.AmountCents *= 2
	return r
}
