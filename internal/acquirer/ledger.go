package acquirer

import (
	"slices"
	"time"

	"idemlab/scenarios"
)

// Entry is one capture that the acquirer was told to make.
type Entry struct {
	Intent  string // as the engine bound it: right even where the key or the order is wrong
	Charge  scenarios.Charge
	Receipt scenarios.Receipt
	At      time.Time // when the request arrived, which is when the money moved
	Repeat  bool      // a known key (Options.Dedup): no money moved again
}

// Ledger returns a copy of all entries, in order of arrival.
func (a *Acquirer) Ledger() []Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.ledger)
}

// Count is what the ledger says of one intent.
type Count struct {
	Requests      int // told
	Captures      int // money moved
	Declines      int // refused
	Repeats       int // known keys, answered from the ledger
	CapturedCents int64
}

// Counts adds the ledger up by intent.
func (a *Acquirer) Counts() map[string]Count { return CountsOf(a.Ledger()) }

// CountsOf adds entries up by intent.
func CountsOf(ledger []Entry) map[string]Count {
	counts := map[string]Count{}
	for _, e := range ledger {
		c := counts[e.Intent]
		c.Requests++
		switch {
		case e.Repeat:
			c.Repeats++
		case e.Receipt.Approved:
			c.Captures++
			c.CapturedCents += e.Charge.AmountCents
		default:
			c.Declines++
		}
		counts[e.Intent] = c
	}
	return counts
}
