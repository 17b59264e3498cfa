package consume

import (
	"maps"
	"testing"

	"idemlab/internal/broker"
	"idemlab/scenarios"
)

func TestPlanIsOfTheSeed(t *testing.T) {
	o := Options{Charges: 50, Kills: 20, Seed: 7}
	p := plan(o)
	points := map[point]int{}
	for order, at := range p {
		if order < firstOrder || order >= firstOrder+50 {
			t.Errorf("order %d", order)
		}
		points[at]++
	}
	if len(p) != 20 || points[afterCapture] != 7 || points[beforeClaim] != 7 || points[beforeAck] != 6 {
		t.Errorf("%d kills: %v", len(p), points)
	}
	if !maps.Equal(p, plan(o)) {
		t.Error("the same seed made another plan")
	}
	o.Seed = 8
	if maps.Equal(p, plan(o)) {
		t.Error("another seed made the same plan")
	}
}

func TestMessagesAreOfTheSeed(t *testing.T) {
	o := Options{Charges: 10, Second: Second{Share: 0.25}, Seed: 7}
	ids := map[string]bool{}
	seconds := 0
	for n, c := range newCharges(o) {
		if again := newCharges(o)[n]; again.req != c.req || again.messages[0].ID != c.messages[0].ID {
			t.Error("the same seed made other charges")
		}
		for i, m := range c.messages {
			ids[m.ID] = true
			seconds += min(i, 1)
			for from, key := range map[KeyFrom]string{Payload: c.req.Key, MessageID: m.ID} {
				req, of, err := from.read(m)
				if want := (scenarios.Request{Key: key, OrderID: c.req.OrderID, AmountCents: c.req.AmountCents}); err != nil || req != want || of != c.req.Key {
					t.Errorf("%s: %+v of %s, %v", from, req, of, err)
				}
			}
		}
	}
	if seconds != 3 || len(ids) != 13 {
		t.Errorf("%d second messages, %d ids", seconds, len(ids))
	}
	o.Second = Second{Share: 0.001, Same: true}
	ids = map[string]bool{}
	for _, c := range newCharges(o) {
		for _, m := range c.messages {
			ids[m.ID] = true
		}
	}
	if len(ids) != 10 || o.seconds() != 1 {
		t.Errorf("%d ids, %d second messages", len(ids), o.seconds())
	}
	if _, _, err := Payload.read(broker.Message{Body: []byte("nonsense")}); err == nil {
		t.Error("nonsense was read")
	}
}

// worker is a consumer with one worker, for the book to hear.
type worker struct {
	book  *book
	hands map[int]*hand
	dead  bool
	r     report
}

func newWorker(b *book, c *charge, number int) *worker {
	return &worker{book: b, hands: map[int]*hand{}, r: report{Message: c.messages[0].ID, Order: c.req.OrderID, Number: number}}
}

func (w *worker) says(s step) point {
	r := w.r
	r.Step = s
	return w.book.hear(r, w.hands, !w.dead)
}

func (w *worker) answers(a scenarios.Answer) point {
	r := w.r
	r.Step, r.Attempt = answered, &attempt{Answer: a}
	return w.book.hear(r, w.hands, !w.dead)
}

func (w *worker) isKilled(at point) {
	w.book.doom(w.r.Order, at, w.hands)
	w.dead = true
}

func oneCharge(at point) (*book, *charge) {
	charges := newCharges(Options{Charges: 1, Seed: 1})
	b := newBook(charges, map[int64]point{firstOrder: at})
	b.sent(charges[0].messages[0].ID, false)
	return b, charges[0]
}

// A death comes once, where the plan has it, or at the end where the charge never comes to that point.
func TestDeathIsDueOnce(t *testing.T) {
	b, c := oneCharge(beforeClaim)
	if w := newWorker(b, c, 1); w.says(received) != beforeClaim {
		t.Error("not before the claim")
	}

	b, c = oneCharge(afterCapture)
	w := newWorker(b, c, 1)
	if w.says(received) != 0 || w.says(captured) != afterCapture {
		t.Error("not after the capture")
	}
	w.isKilled(afterCapture)
	b.gone(w.hands)
	w = newWorker(b, c, 2)
	if w.says(received) != 0 || w.says(captured) != 0 || w.answers(scenarios.Charged) != 0 {
		t.Error("twice")
	}
	if b.died != 1 || b.redeliveries != 1 || b.killed[afterCapture] != 1 || len(c.attempts) != 2 || !c.attempts[0].Died {
		t.Errorf("%+v, attempts %+v", b, c.attempts)
	}

	b, c = oneCharge(afterCapture)
	w = newWorker(b, c, 1)
	if w.says(received) != 0 || w.answers(scenarios.InProgress) != 0 || w.says(givenBack) != 0 || w.says(received) != 0 {
		t.Error("at a message that will come again")
	}
	if w.answers(scenarios.Replayed) != beforeAck {
		t.Error("not before the acknowledgement of a charge that was captured before")
	}
}

// Of a consumer that was killed nobody knows whether the broker heard its last word, unless it was never told to say it.
func TestWhatAKilledConsumerMayHaveDone(t *testing.T) {
	b, c := oneCharge(beforeAck)
	w := newWorker(b, c, 1)
	w.says(received)
	if at := w.answers(scenarios.Charged); at != beforeAck || b.open != 1 {
		t.Errorf("at %d, %d open", at, b.open)
	}
	w.isKilled(beforeAck)
	b.gone(w.hands)
	if b.open != 1 || b.died != 0 || b.ended != 0 {
		t.Errorf("it had not been told to acknowledge: %+v", b)
	}
	w = newWorker(b, c, 2)
	w.says(received)
	w.answers(scenarios.Replayed)
	w.isKilled(0) // for another's sake, when it may have acknowledged
	b.gone(w.hands)
	if b.open != 0 {
		t.Errorf("it may have acknowledged: %+v", b)
	}
	w = newWorker(b, c, 3)
	w.says(received)
	if b.open != 1 {
		t.Error("it had not: here it is again")
	}
	w.answers(scenarios.Replayed)
	w.says(acked)
	if b.open != 0 || b.acked != 1 || c.atWork != 0 {
		t.Errorf("%+v, %d at work", b, c.atWork)
	}
}

// Two at work at one charge are an overlap, unless one of them is dead.
func TestOverlap(t *testing.T) {
	b, c := oneCharge(0)
	first, second := newWorker(b, c, 1), newWorker(b, c, 2)
	first.says(received)
	second.says(received)
	if !c.overlapped || b.ranOut != 1 || b.repeated != 1 {
		t.Errorf("%+v", b)
	}
	second.answers(scenarios.Charged)
	second.says(acked)
	first.answers(scenarios.Charged)
	first.says(late)
	if b.acked != 1 || b.late != 1 || b.open != 0 || c.atWork != 0 {
		t.Errorf("%+v", b)
	}

	// A message that is given back may reach the next consumer before it is heard that it was.
	b, c = oneCharge(0)
	first, second = newWorker(b, c, 1), newWorker(b, c, 2)
	first.says(received)
	first.answers(scenarios.InProgress)
	second.says(received)
	first.says(givenBack)
	if c.overlapped || b.ranOut != 0 || c.atWork != 1 {
		t.Errorf("%d at work: %+v", c.atWork, b)
	}

	b, c = oneCharge(0)
	first, second = newWorker(b, c, 1), newWorker(b, c, 2)
	first.says(received)
	first.isKilled(0)
	second.says(received)
	first.says(captured) // a word that was still in its pipe
	if c.overlapped || b.ranOut != 0 {
		t.Errorf("with the dead: %+v", b)
	}
}
