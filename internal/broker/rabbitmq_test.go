package broker_test

import (
	"net"
	"strings"
	"testing"

	"idemlab/internal/broker"
	"idemlab/internal/broker/rabbittest"
)

// A start takes seconds, so that there is one for all of this.
func TestRabbitMQ(t *testing.T) {
	node := rabbittest.Start(t)
	create := func(t *testing.T) broker.Queue {
		t.Helper()
		return must[broker.Queue](t)(broker.CreateRabbitMQ(within(t), broker.RabbitMQOptions{URL: node.URL, Prefetch: 1, MostDeliveries: 100}))
	}
	// RabbitMQ's window is the server's: no client can ask for another before 3.12, and none below a minute is supported. What it does
	// when it has run out is the same however long it was, so that here it looks more often than it lets itself be told.
	k := kind{make: create, noticesDeath: create, shortWindow: func(t *testing.T) broker.Queue {
		t.Helper()
		node.Eval(t, `application:set_env(rabbit, consumer_timeout, 500), application:set_env(rabbit, channel_tick_interval, 100).`)
		t.Cleanup(func() {
			node.Eval(t, `application:set_env(rabbit, consumer_timeout, 1800000), application:set_env(rabbit, channel_tick_interval, 60000).`)
		})
		return create(t)
	}}
	conform(t, k)

	t.Run("a message that nobody ends is set aside by the server", func(t *testing.T) {
		q := k.queue(t, func(t *testing.T) broker.Queue {
			t.Helper()
			return must[broker.Queue](t)(broker.CreateRabbitMQ(within(t), broker.RabbitMQOptions{URL: node.URL, Prefetch: 1, MostDeliveries: 2}))
		})
		b := k.connect(t, q)
		publish(t, b, "a", "b")
		for n := 1; n <= 3; n++ {
			ok(t, receive(t, b, "a", n).Retry(within(t), 0))
		}
		ok(t, receive(t, b, "b", 1).Ack(within(t)))
		ok(t, b.Close())
		left(t, q, broker.Left{Dead: 1})
	})
	t.Run("a connection that is lost is said to be, and the queue is removed all the same", func(t *testing.T) {
		q := create(t)
		b := k.connect(t, q)
		publish(t, b, "a")
		node.Eval(t, `[rabbit_networking:close_connection(P, "test") || P <- rabbit_networking:connections()].`)
		if _, err := b.Receive(within(t)); err == nil || !strings.Contains(err.Error(), "the connection to RabbitMQ is gone") {
			t.Error(err)
		}
		if err := b.Publish(within(t), broker.Message{ID: "b"}); err == nil {
			t.Error("a message went nowhere")
		}
		ok(t, q.Remove(within(t)))
	})
	t.Run("a refusal says whom and where, and no password", func(t *testing.T) {
		url := strings.Replace(node.URL, "guest:guest", "guest:secret", 1)
		_, err := broker.CreateRabbitMQ(within(t), broker.RabbitMQOptions{URL: url})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Fatal(err)
		}
		for _, words := range []string{"user guest, vhost / at 127.0.0.1", "check user"} {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("no %q: %v", words, err)
			}
		}
	})
	if n := node.Queues(t); n != 0 {
		t.Errorf("%d queues left", n)
	}
}

func TestNoRabbitMQThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	ok(t, l.Close())
	_, err = broker.CreateRabbitMQ(within(t), broker.RabbitMQOptions{URL: "amqp://me:secret@" + l.Addr().String()})
	if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "is one running there?") {
		t.Error(err)
	}
	for _, url := range []string{"postgres://x", "amqp://u:se cret@h", "amqp://u:secret@h:port", "nonsense"} {
		if err := broker.CheckRabbitMQ(url); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
