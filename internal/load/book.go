package load

import (
	"slices"
	"strings"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/scenarios"
)

// fact is what became of one attempt.
type fact struct {
	Seq     uint64 // the attempt's number within its instance, from 0
	Dropped bool   // never sent
	Answer  scenarios.Answer
	HTTP    int
	Body    string
	State   string    // SQLSTATE
	GivenUp bool      // it had lasted too long
	Stopped bool      // the run was ended
	Lost    string    // why the server is taken for lost; empty where it is not
	Sent    time.Time // first statement; zero where there was none
	Ended   time.Time
}

// book keeps what is known of every intent, and settles an intent as soon as no attempt of it can come any more: what is ordinary
// then shrinks to one byte. It is not safe for concurrent use.
type book struct {
	plan      plan
	acq       *acquirer.Acquirer
	instances uint64

	low  []uint64          // of each instance: its lowest number of which nothing has been heard
	held []map[uint64]bool // and those beyond it of which something has

	open     map[uint64]*account
	expiring map[uint64][]uint64 // intents to settle when all attempts up to the end of a stretch are known
	settled  uint64              // stretches that are

	states states
	odd    map[uint64]*scenarios.Intent
	twice  []*scenarios.Intent // unfinished ones that were charged more than once all the same

	totals totals
}

// account is an intent that may still be tried.
type account struct {
	attempts []scenarios.Attempt
	times    []span // of those that sent something
	turned   int    // of them: refused with the advice to try again
	cut      bool   // one was given up, ended with the run, or met a lost server: nobody tried again as a client would

	// Room for what most come to: one attempt.
	attempt [1]scenarios.Attempt
	time    [1]span
}

type span struct{ from, to time.Time }

// totals are over all attempts, warm-up included.
type totals struct {
	attempts, repeats, givenUp, stopped int
	intents, repeated, overlapped       int // settled; tried more than once; tried by two at once
	answers, sqlstates                  map[string]int
	ledger                              acquirer.Count
	charged, doubleCharged, duplicates  int
	owedCents                           int64
	lost                                string
	rows, duplicateRows                 int
	turned                              int // intents in which an attempt was told to try again, and nobody did
	cut                                 int // intents in which an attempt had no end of its own
	rowsRead                            bool
}

// stretch is how many attempts are settled together.
const stretch = 256

func newBook(o Options, acq *acquirer.Acquirer) *book {
	b := &book{
		plan: newPlan(o), acq: acq, instances: uint64(o.Instances),
		low: make([]uint64, o.Instances), open: map[uint64]*account{}, expiring: map[uint64][]uint64{},
		odd: map[uint64]*scenarios.Intent{}, totals: totals{answers: map[string]int{}, sqlstates: map[string]int{}},
	}
	for range o.Instances {
		b.held = append(b.held, map[uint64]bool{})
	}
	for _, a := range o.Scenario.Answers {
		b.totals.answers[string(a)] = 0
	}
	return b
}

// enter notes what became of an instance's attempts.
func (b *book) enter(instance int, facts []fact) {
	for _, f := range facts {
		b.held[instance][f.Seq] = true
		if !f.Dropped {
			b.attempt(b.plan.errand(f.Seq*b.instances+uint64(instance)), f)
		}
	}
	for b.held[instance][b.low[instance]] {
		delete(b.held[instance], b.low[instance])
		b.low[instance]++
	}
	for known := b.known(); (b.settled+1)*stretch <= known; b.settled++ {
		b.settleStretch(b.settled)
	}
}

// known is the number up to which every attempt has been heard of.
func (b *book) known() uint64 {
	least := ^uint64(0)
	for i, low := range b.low {
		least = min(least, low*b.instances+uint64(i))
	}
	return least
}

func (b *book) attempt(e errand, f fact) {
	t := &b.totals
	t.attempts++
	t.answers[string(f.Answer)]++
	if f.State != "" {
		t.sqlstates[f.State]++
	}
	if f.GivenUp && !f.Stopped {
		t.givenUp++
	}
	if f.Stopped {
		t.stopped++
	}
	if f.Lost != "" && t.lost == "" {
		t.lost = f.Lost
	}
	a, ok := b.open[e.intent]
	if !ok {
		a = &account{}
		a.attempts, a.times = a.attempt[:0], a.time[:0]
		b.open[e.intent] = a
		b.expiring[e.last/stretch] = append(b.expiring[e.last/stretch], e.intent)
	} else {
		t.repeats++
	}
	a.attempts = append(a.attempts, scenarios.Attempt{Answer: f.Answer, HTTP: f.HTTP, Body: f.Body, Died: f.Stopped})
	if f.Answer == scenarios.Failed && strings.HasPrefix(f.State, "40") {
		a.turned++
	}
	a.cut = a.cut || f.GivenUp || f.Stopped || f.Lost != ""
	if !f.Sent.IsZero() {
		a.times = append(a.times, span{f.Sent, f.Ended})
	}
}

func (b *book) settleStretch(n uint64) {
	for _, intent := range b.expiring[n] {
		if b.open[intent] != nil { // nobody has closed it before
			req := b.plan.request(errand{intent: intent})
			b.settle(intent, req, b.acq.Settle(req.Key))
		}
	}
	delete(b.expiring, n)
}

// settleAll settles what is left, when no attempt is under way any more.
func (b *book) settleAll() {
	for n := range b.expiring {
		b.settleStretch(n)
	}
}

// settle closes an intent with what the acquirer says of it.
func (b *book) settle(number uint64, req scenarios.Request, c acquirer.Count) {
	a := b.open[number]
	delete(b.open, number)
	t := &b.totals
	t.intents++
	if len(a.attempts) > 1 {
		t.repeated++
	}
	t.ledger.Requests += c.Requests
	t.ledger.Captures += c.Captures
	t.ledger.Declines += c.Declines
	t.ledger.CapturedCents += c.CapturedCents
	if c.Captures > 0 {
		t.charged++
		t.owedCents += req.AmountCents
	}
	if c.Captures > 1 {
		t.doubleCharged++
		t.duplicates += c.Captures - 1
	}
	together := overlap(a.times)
	if together {
		t.overlapped++
	}
	if ordinary(c, a.attempts) && !a.cut {
		b.states.set(number, awaitsRow)
		return
	}
	in := &scenarios.Intent{
		Request: req, Clients: len(a.attempts), Attempts: a.attempts,
		Requests: c.Requests, Captures: c.Captures, Declines: c.Declines, CapturedCents: c.CapturedCents,
	}
	// The story of some intents has no end: a client whose attempt was given up would come again, and so would one that was told
	// to try again (class 40: under load neighbours that have nothing to do with each other meet in an index page, and at
	// SERIALIZABLE one of them must go). Here nobody does. What they left half-done is not held against the strategy; money that was
	// taken twice is, whatever came after.
	switch {
	case a.cut:
		t.cut++
	case a.turned > 0 && !slices.ContainsFunc(a.attempts, isFinal):
		t.turned++
	default:
		b.states.set(number, isOdd)
		b.odd[number] = in
		return
	}
	b.states.set(number, unfinished)
	if together {
		t.overlapped-- // it proves nothing
	}
	if c.Captures > 1 {
		b.twice = append(b.twice, in)
	}
}

// isFinal says that the client was told how it ended.
func isFinal(a scenarios.Attempt) bool {
	return a.Answer == scenarios.Charged || a.Answer == scenarios.Replayed || a.Answer == scenarios.Declined
}

// ordinary says that an intent was charged once, told so, and told the same each time: with one row for it, there is nothing for
// the scenario's checker to find.
func ordinary(c acquirer.Count, attempts []scenarios.Attempt) bool {
	if c.Requests != 1 || c.Captures != 1 {
		return false
	}
	var first *scenarios.Attempt
	for i := range attempts {
		switch a := &attempts[i]; a.Answer {
		case scenarios.Charged:
			if first != nil {
				return false
			}
			first = a
		case scenarios.Replayed, scenarios.InProgress:
		default:
			return false
		}
	}
	if first == nil {
		return false
	}
	for _, a := range attempts {
		if a.Answer == scenarios.Replayed && (a.HTTP != first.HTTP || a.Body != first.Body) {
			return false
		}
	}
	return true
}

// overlap says whether two of the spans have a moment in common.
func overlap(spans []span) bool {
	for i, a := range spans {
		for _, b := range spans[:i] {
			if a.from.Before(b.to) && b.from.Before(a.to) {
				return true
			}
		}
	}
	return false
}
