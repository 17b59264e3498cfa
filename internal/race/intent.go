package race

import (
	"fmt"
	"math/rand/v2"

	"idemlab/scenarios"
)

// intent is one wish to pay, and the number by which reports call it.
type intent struct {
	number int // from 1, over all rounds
	round  int // from 0
	req    scenarios.Request
	other  scenarios.Request // another wish: the same order charged once more, legitimately, under a key of its own
}

// amountCents is R$ 250, the amount of the article's example.
const amountCents = 25000

// firstOrder keeps order ids apart from the warm-up's, which are below zero.
const firstOrder = 1000

// newIntent makes the intent of that number. Its key is a UUID of version 4 drawn from the seed: the same run has the same keys.
func newIntent(seed uint64, number, round int) intent {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	order := firstOrder + int64(number)
	return intent{
		number: number, round: round,
		req:   scenarios.Request{Key: newKey(r), OrderID: order, AmountCents: amountCents},
		other: scenarios.Request{Key: newKey(r), OrderID: order, AmountCents: amountCents},
	}
}

func newKey(r *rand.Rand) string {
	a, b := r.Uint64(), r.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x",
		a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}

// otherAmount is the same key for another amount: another operation, which must be refused.
func (i intent) otherAmount() scenarios.Request {
	r := i.req
	r.AmountCents *= 2
	return r
}
