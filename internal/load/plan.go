package load

import (
	"math"

	"idemlab/internal/intents"
	"idemlab/scenarios"
)

const (
	firstOrder = intents.FirstOrder
	// memory is how many attempts back a repeat may reach. Half of the repeats reach back no further than the attempts that may be
	// under way, so that they meet the first one at work; the others meet its stored answer.
	memory = 4096
	// generation is after how many attempts the hot keys are replaced: fixed ones would be charged once, and only be read after that.
	generation = 1000
	// hotNumbers sets the hot intents' numbers apart from the others', which are their first attempt's.
	hotNumbers = 1 << 40
)

// plan says which intent an attempt is for. It is a pure function of the attempt's number, so that instances which take every
// Kth attempt repeat each other's keys without a word.
type plan struct {
	Seed        uint64
	RepeatShare float64
	HotShare    float64
	HotKeys     uint64
	Near        uint64 // attempts that may be under way at the same time
}

func newPlan(o Options) plan {
	near := uint64(o.Clients)
	if o.open() { // Little's law, with some milliseconds for the database
		near = uint64(math.Ceil(o.Rate * (o.Acquirer.Latency.Mean().Seconds() + 0.005)))
	}
	return plan{Seed: o.Seed, RepeatShare: o.RepeatShare, HotShare: o.HotShare, HotKeys: uint64(o.HotKeys), Near: min(max(near, 2), memory)}
}

// errand is what one attempt is to do.
type errand struct {
	intent uint64
	// last is the last attempt that may be for the same intent.
	last   uint64
	repeat bool // not the intent's first by number; the hot ones count as repeats from their second attempt on, which only the book sees
}

// request is the errand's. Every attempt of an intent makes the same one.
func (p plan) request(e errand) scenarios.Request { return intents.New(p.Seed, e.intent) }

// errand returns what the attempt of that number, from 0, is for.
func (p plan) errand(attempt uint64) errand {
	switch p.kind(attempt) {
	case hot:
		gen := attempt / generation
		return errand{intent: hotNumbers + gen*p.HotKeys + p.chance(attempt, 2)%p.HotKeys, last: (gen+1)*generation - 1}
	case again:
		reach := uint64(memory)
		if p.chance(attempt, 3)&1 == 0 {
			reach = p.Near
		}
		// The walk from there to an attempt that began an intent may lead on a little; memory bounds the whole.
		for back := attempt - 1 - p.chance(attempt, 4)%min(reach, attempt); attempt-back <= memory; back-- {
			if p.kind(back) == fresh {
				return errand{intent: back, last: back + memory, repeat: true}
			}
			if back == 0 {
				break
			}
		}
	}
	return errand{intent: attempt, last: attempt + memory}
}

// kinds of attempts.
const (
	fresh = iota
	again
	hot
)

// kind is fresh for the first attempt of all, whatever the shares: there is nothing yet to repeat.
func (p plan) kind(attempt uint64) int {
	switch u := float64(p.chance(attempt, 1)>>11) / (1 << 53); {
	case attempt == 0:
		return fresh
	case u < p.HotShare:
		return hot
	case u < p.HotShare+p.RepeatShare:
		return again
	}
	return fresh
}

// chance is one of the attempt's own random numbers: splitmix64 (Steele, Lea and Flood 2014), which needs no state to be kept.
func (p plan) chance(attempt, which uint64) uint64 {
	z := p.Seed*0xd1342543de82ef95 + attempt*8 + which
	for range 2 { // once leaves neighbours alike
		z += 0x9e3779b97f4a7c15
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		z ^= z >> 31
	}
	return z
}
