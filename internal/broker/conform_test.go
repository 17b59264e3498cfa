package broker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"idemlab/internal/broker"
)

// kind is a broker under test.
type kind struct {
	make func(t *testing.T) broker.Queue
	db   *pgx.ConnConfig // of a queue in PostgreSQL
	// noticesDeath makes a queue that delivers a dead consumer's messages again soon, and shortWindow one that does so with a slow
	// one's.
	noticesDeath, shortWindow func(t *testing.T) broker.Queue
}

// conform is what every broker must do, whatever it is made of.
func conform(t *testing.T, k kind) {
	for name, test := range map[string]func(*testing.T, kind){
		"what is acknowledged does not come again":        ackEnds,
		"what is given back comes again, counted":         retryComesAgain,
		"what is given back for later waits":              retryWaits,
		"a consumer that goes leaves its messages":        deathDeliversAgain,
		"a rejected message is set aside":                 rejectSetsAside,
		"each message goes to one consumer at a time":     oneAtATime,
		"what outlasts the window comes again, and late":  windowDeliversAgain,
		"a receiver that stops waiting takes no message":  cancelTakesNothing,
		"a queue that is removed is gone":                 removedIsGone,
		"what was published before anybody came is there": waitsForConsumers,
	} {
		t.Run(name, func(t *testing.T) { test(t, k) })
	}
}

// limit is what a test waits for a broker's word before it calls it missing.
const limit = 30 * time.Second

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// must is for what has no reason to fail.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// queue makes one that is removed, and all of whose goroutines are over, when the test is.
func (k kind) queue(t *testing.T, create func(*testing.T) broker.Queue) broker.Queue {
	t.Helper()
	before := goleak.IgnoreCurrent()
	q := create(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := q.Remove(ctx); err != nil {
			t.Error(err)
		}
		goleak.VerifyNone(t, before)
	})
	return q
}

// connect makes a way to a queue that is closed after the test.
func (k kind) connect(t *testing.T, q broker.Queue) broker.Broker {
	t.Helper()
	b := must[broker.Broker](t)(q.Address().Connect(within(t), k.db))
	t.Cleanup(func() { ok(t, b.Close()) })
	return b
}

func publish(t *testing.T, b broker.Broker, ids ...string) {
	t.Helper()
	for _, id := range ids {
		ok(t, b.Publish(within(t), broker.Message{ID: id, Body: []byte(`{"n": "` + id + `"}`)}))
	}
}

// receive takes the next delivery and checks that it is whole.
func receive(t *testing.T, b broker.Broker, id string, number int) broker.Delivery {
	t.Helper()
	d := must[broker.Delivery](t)(b.Receive(within(t)))
	if m := d.Message(); m.ID != id || string(m.Body) != `{"n": "`+id+`"}` || d.Number() != number {
		t.Fatalf("received %s %s, delivery %d; want %s, delivery %d", m.ID, m.Body, d.Number(), id, number)
	}
	return d
}

func left(t *testing.T, q broker.Queue, want broker.Left) {
	t.Helper()
	if got := must[broker.Left](t)(q.Left(within(t))); got != want {
		t.Fatalf("left %+v, want %+v", got, want)
	}
}

func ackEnds(t *testing.T, k kind) {
	q := k.queue(t, k.make)
	b := k.connect(t, q)
	publish(t, b, "a", "b")
	ok(t, receive(t, b, "a", 1).Ack(within(t)))
	ok(t, receive(t, b, "b", 1).Ack(within(t)))
	ok(t, b.Close())
	left(t, q, broker.Left{})
}

func retryComesAgain(t *testing.T, k kind) {
	q := k.queue(t, k.make)
	b := k.connect(t, q)
	publish(t, b, "a")
	for n := 1; n <= 3; n++ {
		ok(t, receive(t, b, "a", n).Retry(within(t), 0))
	}
	ok(t, receive(t, b, "a", 4).Ack(within(t)))
	ok(t, b.Close())
	left(t, q, broker.Left{})
}

// Only that it comes no sooner can be said for certain: how much later is up to the machine.
func retryWaits(t *testing.T, k kind) {
	q := k.queue(t, k.make)
	b := k.connect(t, q)
	publish(t, b, "a")
	d := receive(t, b, "a", 1)
	const wait = 300 * time.Millisecond
	since := time.Now()
	ok(t, d.Retry(within(t), wait))
	d = receive(t, b, "a", 2)
	if took := time.Since(since); took < wait {
		t.Errorf("again after %v, and %v was asked for", took, wait)
	}
	ok(t, d.Ack(within(t)))
}

func deathDeliversAgain(t *testing.T, k kind) {
	q := k.queue(t, k.noticesDeath)
	dies, lives := k.connect(t, q), k.connect(t, q)
	publish(t, lives, "a")
	receive(t, dies, "a", 1)
	ok(t, dies.Close())
	ok(t, receive(t, lives, "a", 2).Ack(within(t)))
	ok(t, lives.Close())
	left(t, q, broker.Left{})
}

func rejectSetsAside(t *testing.T, k kind) {
	q := k.queue(t, k.make)
	b := k.connect(t, q)
	publish(t, b, "a", "b")
	ok(t, receive(t, b, "a", 1).Reject(within(t)))
	receive(t, b, "b", 1) // in hand until it closes
	ok(t, b.Close())
	for { // RabbitMQ says nothing when it has moved a message
		l := must[broker.Left](t)(q.Left(within(t)))
		if l == (broker.Left{Waiting: 1, Dead: 1}) {
			return
		}
		if l.Waiting != 1 || l.Dead > 1 {
			t.Fatalf("left %+v", l)
		}
	}
}

func oneAtATime(t *testing.T, k kind) {
	q := k.queue(t, k.make)
	const messages, consumers = 40, 4
	producer := k.connect(t, q)
	for n := range messages {
		publish(t, producer, fmt.Sprint(n))
	}
	ctx, enough := context.WithCancel(within(t))
	defer enough()
	var mu sync.Mutex
	got := map[string]int{}
	var all sync.WaitGroup
	for range consumers {
		b := k.connect(t, q)
		all.Go(func() {
			for {
				d, err := b.Receive(ctx)
				if err != nil {
					return
				}
				if err := d.Ack(within(t)); err != nil {
					t.Error(err)
				}
				mu.Lock()
				got[d.Message().ID]++
				if len(got) == messages {
					enough()
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	if len(got) != messages {
		t.Errorf("%d of %d messages came", len(got), messages)
	}
	for id, n := range got {
		if n != 1 {
			t.Errorf("message %s came %d times", id, n)
		}
	}
}

// The first consumer still works when the message comes to the second: neither can know of the other, and the first one's word comes
// too late.
func windowDeliversAgain(t *testing.T, k kind) {
	q := k.queue(t, k.shortWindow)
	slow, quick := k.connect(t, q), k.connect(t, q)
	publish(t, slow, "a")
	first := receive(t, slow, "a", 1)
	second := receive(t, quick, "a", 2)
	if err := first.Ack(within(t)); !errors.Is(err, broker.ErrLate) {
		t.Errorf("the first consumer was told %v", err)
	}
	ok(t, second.Ack(within(t)))

	// And it goes on: what had it too long receives again.
	publish(t, quick, "b")
	ok(t, quick.Close())
	d := must[broker.Delivery](t)(slow.Receive(within(t)))
	if d.Message().ID != "b" {
		t.Errorf("received %s", d.Message().ID)
	}
	ok(t, d.Ack(within(t)))
	ok(t, slow.Close())
	left(t, q, broker.Left{})
}

func cancelTakesNothing(t *testing.T, k kind) {
	q := k.queue(t, k.make)
	b := k.connect(t, q)
	ctx, cancel := context.WithCancel(t.Context())
	waits := make(chan error)
	go func() {
		_, err := b.Receive(ctx)
		waits <- err
	}()
	cancel()
	if err := <-waits; !errors.Is(err, context.Canceled) {
		t.Errorf("told %v", err)
	}
	publish(t, b, "a")
	ok(t, receive(t, b, "a", 1).Ack(within(t)))
}

func removedIsGone(t *testing.T, k kind) {
	q := k.make(t)
	b := k.connect(t, q)
	publish(t, b, "a")
	ok(t, q.Remove(within(t)))
	if err := b.Publish(within(t), broker.Message{ID: "b"}); err == nil {
		t.Error("a message went into a queue that is not there")
	}
	if d, err := b.Receive(within(t)); err == nil {
		t.Errorf("received %s", d.Message().ID)
	}
}

func waitsForConsumers(t *testing.T, k kind) {
	q := k.queue(t, k.make)
	producer := k.connect(t, q)
	publish(t, producer, "1", "2", "3")
	ok(t, producer.Close())
	left(t, q, broker.Left{Waiting: 3})
	b := k.connect(t, q)
	var came []string
	for range 3 {
		d := must[broker.Delivery](t)(b.Receive(within(t)))
		came = append(came, d.Message().ID)
		ok(t, d.Ack(within(t)))
	}
	if slices.Sort(came); !slices.Equal(came, []string{"1", "2", "3"}) {
		t.Errorf("came %v", came)
	}
}
