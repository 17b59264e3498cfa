// Package acquirer is the outside world: it moves the money, keeps its own ledger apart from the database under test, and no
// rollback undoes what it did. It takes its time (Latency), says no to a share of the intents, fails as networks and servers fail
// (Rule), and has a gate that can hold its answers until told. It may be in this process, or listen for others: over HTTP, or as a mail
// server, where a capture is an e-mail and what is counted is how often a customer was written to.
package acquirer

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
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
	file *ledgerFile // where the ledger outlives the process; nil where it does not

	mu      sync.Mutex
	told    int                // captures asked for, settled ones included
	intents map[string][]Entry // the ledger, by intent
	byKey   map[string]Entry   // each key's first entry, for Find
	gate    *Gate
	faults  faults
}

// New makes an acquirer with an empty ledger, which ends with the process.
func New(o Options) *Acquirer {
	return &Acquirer{opts: o, intents: map[string][]Entry{}, byKey: map[string]Entry{}}
}

// Open makes an acquirer whose ledger is a file: what it holds already is the acquirer's past, and each capture is on disk before it is
// answered. Close gives the file back. notes say what had to be done to it.
func Open(o Options, path string) (a *Acquirer, notes []string, err error) {
	a = New(o)
	file, entries, notes, err := openLedger(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open the ledger %s: %w", path, err)
	}
	a.file = file
	for _, e := range entries {
		a.enter(e)
	}
	return a, notes, nil
}

// Close gives the ledger's file back. Without one there is nothing to do.
func (a *Acquirer) Close() error {
	if a.file == nil {
		return nil
	}
	return a.file.close()
}

// For binds an acquirer to an intent, so that the ledger knows whose money moved whatever key the strategy sends.
func (a *Acquirer) For(intent string) scenarios.Acquirer { return bound{a, intent} }

type bound struct {
	a      *Acquirer
	intent string
}

// Capture tells a caller in this process what it would learn over a network: a receipt, or nothing.
func (b bound) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	r, err := b.a.capture(ctx, b.intent, c)
	if err != nil {
		return scenarios.Receipt{}, fmt.Errorf("%w: %v", scenarios.ErrOutcomeUnknown, err)
	}
	return r, nil
}

func (b bound) Find(_ context.Context, key string) (scenarios.Receipt, bool, error) {
	r, ok := b.a.find(key)
	return r, ok, nil
}

// Ways in which a capture ends without a receipt.
var (
	errNoAnswer = errors.New("the connection was closed without an answer")
	errServer   = errors.New("acquirer answered 500 Internal Server Error")
)

// capture records first and answers later: the money moves when the request arrives, and a client that stops waiting during
// the latency does not undo it.
func (a *Acquirer) capture(ctx context.Context, intent string, c scenarios.Charge) (scenarios.Receipt, error) {
	rule := a.befalls(intent)
	switch rule.Fault {
	case LostRequest:
		return scenarios.Receipt{}, errNoAnswer
	case ErrorBefore:
		return scenarios.Receipt{}, errServer
	}
	e, gate, err := a.record(intent, c, rule.Fault == Decline)
	if err != nil {
		return scenarios.Receipt{}, err
	}
	if gate != nil {
		if err := gate.pass(ctx); err != nil {
			return scenarios.Receipt{}, fmt.Errorf("held at the gate: %w", err)
		}
	}
	if err := sleep(ctx, a.opts.Latency.sample(a.opts.Seed, uint64(e.Number))+rule.delay()); err != nil {
		return scenarios.Receipt{}, err
	}
	switch rule.Fault {
	case LostReply:
		return scenarios.Receipt{}, errNoAnswer
	case ErrorAfter:
		return scenarios.Receipt{}, errServer
	}
	return e.Receipt, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// record enters the capture into the ledger, and returns when it is where it would survive. An error says that it is not.
func (a *Acquirer) record(intent string, c scenarios.Charge, refuse bool) (e Entry, gate *Gate, err error) {
	a.mu.Lock()
	e, gate = a.decide(intent, c, refuse), a.gate
	a.enter(e)
	var written int64
	if a.file != nil {
		written, err = a.file.write(e) // under the lock, so that the file has the ledger's order
	}
	a.mu.Unlock()
	if err == nil && a.file != nil {
		err = a.file.sync(written)
	}
	return e, gate, err
}

// decide says what becomes of a capture, as the ledger stands. The caller holds the lock.
func (a *Acquirer) decide(intent string, c scenarios.Charge, refuse bool) Entry {
	e := Entry{Number: a.told + 1, Intent: intent, Charge: c, At: time.Now()}
	e.Receipt = scenarios.Receipt{ID: receiptID(e.Number), Approved: !refuse && !a.declines(intent)}
	first, known := a.byKey[c.Key]
	switch {
	case !known || !a.opts.Dedup:
	case first.Charge == c:
		e.Receipt, e.Repeat = first.Receipt, true
	default:
		e.Receipt.Approved = false
	}
	return e
}

// receiptID is "cap-" and the number in six digits or more: the one thing that is spelt for every capture, so that it is not left to fmt.
func receiptID(number int) string {
	text := []byte("cap-")
	for least := 100_000; least > max(number, 1) && least > 1; least /= 10 {
		text = append(text, '0')
	}
	return string(strconv.AppendInt(text, int64(number), 10))
}

// enter appends to the ledger. The caller holds the lock, or is alone.
func (a *Acquirer) enter(e Entry) {
	a.told = e.Number
	if _, known := a.byKey[e.Charge.Key]; !known {
		a.byKey[e.Charge.Key] = e
	}
	a.intents[e.Intent] = append(a.intents[e.Intent], e)
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
	return a.opts.DeclineShare > 0 && chance(a.opts.Seed, intent) < a.opts.DeclineShare
}

// chance is a number from 0 to 1 that depends on the seed and the words alone.
func chance(seed uint64, words ...string) float64 {
	h := fnv.New64a()
	for i, w := range words {
		if i > 0 {
			h.Write([]byte{0})
		}
		h.Write([]byte(w))
	}
	return rand.New(rand.NewPCG(seed, h.Sum64())).Float64()
}
