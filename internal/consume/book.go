package consume

import (
	"slices"

	"idemlab/internal/broker"
	"idemlab/scenarios"
)

// account is what is known of one charge.
type account struct {
	attempts   []scenarios.Attempt
	states     []string // SQLSTATEs of those that failed
	begun      int      // deliveries that a consumer began on
	atWork     int      // of those, by consumers that live
	overlapped bool
}

// message is what is known of one ID.
type message struct {
	published int // times that the broker took it
	ended     int // times that it was acknowledged or set aside, as far as is known
}

func (m message) open() int { return max(0, m.published-m.ended) }

// book holds what the run has heard: of charges, of messages, and of what each worker has in hand. It is pure, and one goroutine's.
type book struct {
	charges  []*charge
	messages map[string]*message
	kill     map[int64]point // the plan's, those that are still to be made

	open  int // messages that the broker took and that have not ended
	ended int // that have, since the start

	planned                                    int
	killed                                     map[point]int
	published, doubles, dropped                int
	deliveries, redeliveries, ranOut, repeated int
	died, givenUp                              int
	acked, late, setAside                      int
	orphans                                    reconciled
	lost                                       string // why the server is
}

func newBook(charges []*charge, plan map[int64]point) *book {
	b := &book{charges: charges, messages: map[string]*message{}, kill: plan, planned: len(plan), killed: map[point]int{}}
	for _, c := range charges {
		for _, m := range c.messages {
			b.messages[m.ID] = &message{}
		}
	}
	return b
}

func (b *book) chargeOf(order int64) *charge { return b.charges[order-firstOrder] }

// sent enters that the broker took a message.
func (b *book) sent(id string, second bool) {
	b.published++
	if second {
		b.doubles++
	}
	b.change(id, func(m *message) { m.published++ })
}

// refused enters that the broker dropped a second message.
func (b *book) refused() {
	b.doubles++
	b.dropped++
}

func (b *book) change(id string, f func(*message)) {
	m := b.messages[id]
	b.open -= m.open()
	f(m)
	b.open += m.open()
}

// atWorkStill says whether a charge has a message that has not ended.
func (b *book) atWorkStill(c *charge) bool {
	return slices.ContainsFunc(c.messages, func(m broker.Message) bool { return b.messages[m.ID].open() > 0 })
}

// hand is what one worker has in hand.
type hand struct {
	report
	captured bool
	answered bool // since it last asked
	atWork   bool // it asks, and lives
	mayEnd   bool // it was told to go on, and may tell the broker at any moment that it is done
}

// hear enters what a worker says, and returns where it is to be killed, or 0. hands are those of its consumer, alive says whether that
// one lives as far as is known: of a dead one there may be words left in the pipe.
func (b *book) hear(r report, hands map[int]*hand, alive bool) (at point) {
	c := b.chargeOf(r.Order)
	h := hands[r.Worker]
	switch r.Step {
	case received:
		b.receive(c, r)
		h = &hand{report: r}
		hands[r.Worker] = h
		h.work(c, alive)
	case captured:
		h.captured = true
	case answered:
		b.answer(c, *r.Attempt)
		h.answered = true
		h.work(c, false)
	case cleared:
		h.answered = false
		h.work(c, alive)
		b.orphans.Recorded += r.Orphans.Recorded
		b.orphans.Released += r.Orphans.Released
	default:
		b.end(r)
		delete(hands, r.Worker)
	}
	if !alive {
		return 0
	}
	at = b.due(r, h)
	if at == 0 && r.Step == answered {
		h.mayEnd = r.Attempt.final()
	}
	return at
}

// work enters whether the strategy is at work. What comes after its answer, until the broker has been told, is not: the next consumer may be
// heard of before that.
func (h *hand) work(c *charge, now bool) {
	switch {
	case now && !h.atWork:
		c.atWork++
	case !now && h.atWork:
		c.atWork--
	}
	h.atWork = now
}

// receive enters a delivery that a consumer begins on.
func (b *book) receive(c *charge, r report) {
	b.deliveries++
	if r.Number > 1 {
		b.redeliveries++
	}
	if c.begun++; c.begun == 2 {
		b.repeated++
	}
	if c.atWork > 0 {
		c.overlapped = true
		if r.Number > 1 {
			b.ranOut++
		}
	}
	b.change(r.Message, func(m *message) {
		if m.ended > 0 && m.ended == m.published {
			m.ended-- // it had not ended after all
		}
	})
}

func (b *book) answer(c *charge, a attempt) {
	c.attempts = append(c.attempts, scenarios.Attempt{Answer: a.Answer, HTTP: a.HTTP, Body: a.Body})
	if a.SQLState != "" {
		c.states = append(c.states, a.SQLState)
	}
	if a.GivenUp {
		b.givenUp++
	}
	if a.LostServer {
		b.lost = a.Err
	}
}

func (b *book) end(r report) {
	switch r.Step {
	case acked:
		b.acked++
	case setAside:
		b.setAside++
	case late:
		b.late++
		return
	default:
		return
	}
	b.endMessage(r.Message)
}

func (b *book) endMessage(id string) {
	b.ended++
	b.change(id, func(m *message) { m.ended++ })
}

// doom enters that a consumer is about to be killed, so that nothing it has in hand counts as work any more.
func (b *book) doom(order int64, at point, hands map[int]*hand) {
	if at != 0 {
		delete(b.kill, order)
		b.killed[at]++
	}
	for _, h := range hands {
		h.work(b.chargeOf(h.Order), false)
	}
}

// gone enters that a consumer's process has ended: what it still had in hand got no answer, or came so far that nobody knows whether
// the broker was told.
func (b *book) gone(hands map[int]*hand) {
	for _, h := range hands {
		if h.mayEnd {
			b.endMessage(h.Message)
		}
		if h.answered {
			continue
		}
		c := b.chargeOf(h.Order)
		b.died++
		c.attempts = append(c.attempts, scenarios.Attempt{Died: true})
	}
}

// due says whether the plan has a death for this moment. A charge that was captured for another message of it never comes to that
// point: its consumer dies before it acknowledges.
func (b *book) due(r report, h *hand) point {
	at := b.kill[r.Order]
	switch {
	case r.Step == received && at == beforeClaim, r.Step == captured && at == afterCapture:
		return at
	case r.Step == answered && r.Attempt.final() && (at == beforeAck || at == afterCapture && !h.captured):
		return beforeAck
	}
	return 0
}
