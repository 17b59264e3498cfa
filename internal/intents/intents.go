// Package intents makes wishes to pay out of a seed, so that a run can be made again and processes that share the seed agree on
// them without a word.
package intents

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"

	"idemlab/scenarios"
)

// AmountCents is R$ 250, the amount of the article's example.
const AmountCents = 25000

// FirstOrder keeps order ids apart from the warm-up's, which are below zero.
const FirstOrder = 1000

// New makes the intent of that number, from 0. Its order id is FirstOrder and the number, its key a UUID of version 4 drawn from
// the seed.
func New(seed, number uint64) scenarios.Request {
	var chance rand.PCG // Rand's, but never on the heap: under load one is made for each attempt
	chance.Seed(seed, number)
	return numbered(number, key(chance.Uint64(), chance.Uint64()))
}

// Rand is New, and what is left of the intent's own chance: for the keys and choices that come after its first key.
func Rand(seed, number uint64) (scenarios.Request, *rand.Rand) {
	r := rand.New(rand.NewPCG(seed, number))
	return numbered(number, Key(r)), r
}

func numbered(number uint64, key string) scenarios.Request {
	return scenarios.Request{Key: key, OrderID: FirstOrder + int64(number), AmountCents: AmountCents}
}

// Key draws a UUID of version 4.
func Key(r *rand.Rand) string { return key(r.Uint64(), r.Uint64()) }

func key(high, low uint64) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], high)
	binary.BigEndian.PutUint64(raw[8:], low)
	raw[6] = raw[6]&0x0f | 0x40
	raw[8] = raw[8]&0x3f | 0x80
	var text [36]byte
	for i, part := range [][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		hex.Encode(text[2*part[0]+i:], raw[part[0]:part[1]])
		if i > 0 {
			text[2*part[0]+i-1] = '-'
		}
	}
	return string(text[:])
}
