package broker_test

import (
	"errors"
	"testing"
	"time"

	"idemlab/internal/broker"
	"idemlab/internal/server/servertest"
)

// never is a window that no test outlasts.
const never = time.Hour

func onPostgres(t *testing.T) (k kind, with func(broker.PostgresOptions) func(*testing.T) broker.Queue) {
	schema := servertest.Schema(t, "")
	k.db = schema.Config()
	with = func(o broker.PostgresOptions) func(*testing.T) broker.Queue {
		return func(t *testing.T) broker.Queue {
			t.Helper()
			return must[broker.Queue](t)(broker.CreatePostgres(within(t), k.db, o))
		}
	}
	k.make, k.shortWindow = with(broker.PostgresOptions{Window: never}), with(broker.PostgresOptions{Window: 200 * time.Millisecond})
	k.noticesDeath = k.shortWindow // it cannot tell a dead consumer from a slow one
	return k, with
}

func TestPostgres(t *testing.T) {
	k, _ := onPostgres(t)
	conform(t, k)
}

// What the broker's own deduplication covers: a second message with the ID of one that was taken, whatever became of that one. And
// what it does not: another ID, and what comes when the window is over.
func TestDedupWindow(t *testing.T) {
	k, with := onPostgres(t)
	q := k.queue(t, with(broker.PostgresOptions{Window: never, Dedup: never}))
	b := k.connect(t, q)
	publish(t, b, "a")
	if err := b.Publish(within(t), broker.Message{ID: "a"}); !errors.Is(err, broker.ErrDropped) {
		t.Errorf("a second message with the same ID: %v", err)
	}
	ok(t, receive(t, b, "a", 1).Ack(within(t)))
	if err := b.Publish(within(t), broker.Message{ID: "a"}); !errors.Is(err, broker.ErrDropped) {
		t.Errorf("when the first was done: %v", err)
	}
	publish(t, b, "b")
	ok(t, receive(t, b, "b", 1).Ack(within(t)))
	ok(t, b.Close())
	left(t, q, broker.Left{})
	ok(t, q.Remove(within(t)))

	// A window that is over by the time anybody can come again.
	q = k.queue(t, with(broker.PostgresOptions{Window: never, Dedup: time.Microsecond}))
	b = k.connect(t, q)
	publish(t, b, "a", "a")
	ok(t, b.Close())
	left(t, q, broker.Left{Waiting: 2})
}

// With no window there is nothing to drop by.
func TestWithoutDedupEveryMessageIsOne(t *testing.T) {
	k, with := onPostgres(t)
	q := k.queue(t, with(broker.PostgresOptions{Window: never}))
	b := k.connect(t, q)
	publish(t, b, "a", "a")
	ok(t, b.Close())
	left(t, q, broker.Left{Waiting: 2})
}

func TestAnEmptyAddressLeadsNowhere(t *testing.T) {
	if _, err := (broker.Address{}).Connect(t.Context(), nil); err == nil {
		t.Error("it led somewhere")
	}
}
