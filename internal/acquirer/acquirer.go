// Package acquirer is the outside world: it moves the money, keeps its own ledger apart from the database under test, and no
// rollback undoes what it did. It takes its time (Latency), says no to a share of the intents, and has a gate that can hold
// its answers until told.
package acquirer

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"idemlab/scenarios"
)

// Options shape an Acquirer. The zero value answers at once and approves everything.
type Options struct {
	Latency      Latency
	DeclineShare float64 // share of the intents, 0 to 1, that are refused each time they are asked for
	Seed         uint64
	// Dedup moves money once for each key: a repeat gets the first receipt again, and a known key with another charge is
	// refused. Not every acquirer does, and none does for ever.
	Dedup bool
}

// Acquirer is safe for concurrent use.
type Acquirer struct {
	opts Options

	mu      sync.Mutex
	told    int                // captures asked for, settled ones included
	intents map[string][]Entry // the ledger, by intent
	byKey   map[string]Entry   // each key's first entry, for Find
	gate    *Gate
}

// Entry is one capture that the acquirer was told to make.
type Entry struct {
	Number  int    // from 1, in order of arrival
	Intent  string // as the engine bound it: right even where the key or the order is wrong
	Charge  scenarios.Charge
	Receipt scenarios.Receipt
	At      time.Time // when the request arrived, which is when the money moved
	Repeat  bool      // a known key (Options.Dedup): no money moved again
}

// New makes an acquirer with an empty ledger.
func New(o Options) *Acquirer {
	return &Acquirer{opts: o, intents: map[string][]Entry{}, byKey: map[string]Entry{}}
}

// For binds an acquirer to an intent, so that the ledger knows whose money moved whatever key the strategy sends.
func (a *Acquirer) For(intent string) scenarios.Acquirer { return bound{a, intent} }

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

// Settle closes the account of an intent that nobody will try again, and returns what it came to. The entries are forgotten, and
// so are their keys: a ledger that is settled as it goes does not grow.
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

type bound struct {
	a      *Acquirer
	intent string
}

func (b bound) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	return b.a.capture(ctx, b.intent, c)
}

func (b bound) Find(_ context.Context, key string) (scenarios.Receipt, bool, error) {
	r, ok := b.a.find(key)
	return r, ok, nil
}

// capture records first and answers later: the money moves when the request arrives, and a client that stops waiting during
// the latency does not undo it.
func (a *Acquirer) capture(ctx context.Context, intent string, c scenarios.Charge) (scenarios.Receipt, error) {
	n, receipt, gate := a.record(intent, c)
	if gate != nil {
		if err := gate.pass(ctx); err != nil {
			return scenarios.Receipt{}, fmt.Errorf("%w: held at the gate: %v", scenarios.ErrOutcomeUnknown, err)
		}
	}
	wait := a.opts.Latency.sample(a.opts.Seed, uint64(n))
	if wait <= 0 {
		return receipt, nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return receipt, nil
	case <-ctx.Done():
		return scenarios.Receipt{}, fmt.Errorf("%w: %v", scenarios.ErrOutcomeUnknown, ctx.Err())
	}
}

func (a *Acquirer) record(intent string, c scenarios.Charge) (n int, r scenarios.Receipt, gate *Gate) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told++
	e := Entry{Number: a.told, Intent: intent, Charge: c, At: time.Now()}
	e.Receipt = scenarios.Receipt{ID: fmt.Sprintf("cap-%06d", e.Number), Approved: !a.declines(intent)}
	first, known := a.byKey[c.Key]
	switch {
	case !known:
		a.byKey[c.Key] = e
	case !a.opts.Dedup:
	case first.Charge == c:
		e.Receipt, e.Repeat = first.Receipt, true
	default:
		e.Receipt.Approved = false
	}
	a.intents[intent] = append(a.intents[intent], e)
	return e.Number, e.Receipt, a.gate
}

func (a *Acquirer) find(key string) (scenarios.Receipt, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	e, ok := a.byKey[key]
	return e.Receipt, ok
}

// declines decides by intent and seed, not by order of arrival: a card without funds is refused to each of its attempts, and
// the same seed refuses the same intents however the race went.
func (a *Acquirer) declines(intent string) bool {
	if a.opts.DeclineShare <= 0 {
		return false
	}
	h := fnv.New64a()
	h.Write([]byte(intent))
	return rand.New(rand.NewPCG(a.opts.Seed, h.Sum64())).Float64() < a.opts.DeclineShare
}
