// Package acquirer is the outside world: it moves the money, keeps its own ledger apart from the database under test, and no
// rollback undoes what it did. It takes its time (Latency), says no to a share of the intents, and has a gate that can hold
// its answers until told.
package acquirer

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
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

	mu     sync.Mutex
	ledger []Entry
	byKey  map[string]int // key → position of its first entry, for Find
	gate   *Gate
}

// Entry is one capture that the acquirer was told to make.
type Entry struct {
	Intent  string // as the engine bound it: right even where the key or the order is wrong
	Charge  scenarios.Charge
	Receipt scenarios.Receipt
	At      time.Time // when the request arrived, which is when the money moved
	Repeat  bool      // a known key (Options.Dedup): no money moved again
}

// New makes an acquirer with an empty ledger.
func New(o Options) *Acquirer {
	return &Acquirer{opts: o, byKey: map[string]int{}}
}

// For binds an acquirer to an intent, so that the ledger knows whose money moved whatever key the strategy sends.
func (a *Acquirer) For(intent string) scenarios.Acquirer { return bound{a, intent} }

// Ledger returns a copy of all entries, in order of arrival.
func (a *Acquirer) Ledger() []Entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]Entry(nil), a.ledger...)
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
	counts := map[string]Count{}
	for _, e := range a.ledger {
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
	wait := a.opts.Latency.sample(rand.New(rand.NewPCG(a.opts.Seed, uint64(n))))
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
	n = len(a.ledger) + 1
	r = scenarios.Receipt{ID: fmt.Sprintf("cap-%06d", n), Approved: !a.declines(intent)}
	first, known := a.byKey[c.Key]
	repeat := false
	switch {
	case !known:
		a.byKey[c.Key] = len(a.ledger)
	case !a.opts.Dedup:
	case a.ledger[first].Charge == c:
		r, repeat = a.ledger[first].Receipt, true
	default:
		r.Approved = false
	}
	a.ledger = append(a.ledger, Entry{Intent: intent, Charge: c, Receipt: r, At: time.Now(), Repeat: repeat})
	return n, r, a.gate
}

func (a *Acquirer) find(key string) (scenarios.Receipt, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, ok := a.byKey[key]
	if !ok {
		return scenarios.Receipt{}, false
	}
	return a.ledger[i].Receipt, true
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
