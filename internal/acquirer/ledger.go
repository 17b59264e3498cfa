package acquirer

import (
	"slices"
	"time"

	"idemlab/scenarios"
)

// Entry is one capture that the acquirer was told to make.
type Entry struct {
	Number  int    // from 1, in order of arrival
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
	var all []Entry
	for _, entries := range a.intents {
		all = append(all, entries...)
	}
	slices.SortFunc(all, func(x, y Entry) int { return x.Number - y.Number })
	return all
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
func (a *Acquirer) Counts() map[string]Count {
	a.mu.Lock()
	defer a.mu.Unlock()
	counts := make(map[string]Count, len(a.intents))
	for intent, entries := range a.intents {
		counts[intent] = count(entries)
	}
	return counts
}

// Tenants adds the ledger up by intent and tenant, for the intents in which the acquirer was told of a tenant at all.
func (a *Acquirer) Tenants() map[string]map[int64]scenarios.Told {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[string]map[int64]scenarios.Told{}
	for intent, entries := range a.intents {
		by := map[int64][]Entry{}
		for _, e := range entries {
			by[e.Charge.Tenant] = append(by[e.Charge.Tenant], e)
		}
		if _, only := by[0]; only && len(by) == 1 {
			continue
		}
		all[intent] = map[int64]scenarios.Told{}
		for tenant, entries := range by {
			c := count(entries)
			told := scenarios.Told{Requests: c.Requests, Captures: c.Captures, Declines: c.Declines, CapturedCents: c.CapturedCents}
			for _, e := range entries {
				if !slices.Contains(told.Receipts, e.Receipt.ID) {
					told.Receipts = append(told.Receipts, e.Receipt.ID)
				}
			}
			all[intent][tenant] = told
		}
	}
	return all
}

// CountsOf adds a ledger up by intent.
func CountsOf(ledger []Entry) map[string]Count {
	intents := map[string][]Entry{}
	for _, e := range ledger {
		intents[e.Intent] = append(intents[e.Intent], e)
	}
	counts := make(map[string]Count, len(intents))
	for intent, entries := range intents {
		counts[intent] = count(entries)
	}
	return counts
}

// Settle closes the account of an intent that nobody will try again, and returns what it came to. The entries are forgotten, and
// so are their keys: a ledger that is settled as it goes does not grow. A ledger's file keeps them.
func (a *Acquirer) Settle(intent string) Count {
	a.mu.Lock()
	defer a.mu.Unlock()
	entries := a.intents[intent]
	for _, e := range entries {
		if a.byKey[e.Charge.Key].Intent == intent {
			delete(a.byKey, e.Charge.Key)
		}
	}
	delete(a.intents, intent)
	delete(a.faults.asked, intent)
	return count(entries)
}

func count(entries []Entry) (c Count) {
	for _, e := range entries {
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
	}
	return c
}
