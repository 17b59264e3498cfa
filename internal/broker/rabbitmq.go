package broker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

// RabbitMQOptions say where a queue is in RabbitMQ and how it behaves.
type RabbitMQOptions struct {
	URL   string // amqp://user:password@host:port/vhost; it is not to be printed
	Queue string // its name; CreateRabbitMQ makes one
	// Prefetch is how many messages the server pushes to a consumer before it ends one.
	Prefetch int
	// MostDeliveries is after how many the server itself sets a message aside, for consumers that die before they can.
	MostDeliveries int
}

// connectLimit bounds what a server that does not answer may cost.
const connectLimit = 10 * time.Second

// unused is how long the server keeps a queue that nobody uses: the queue of a run that was killed, which could not remove it.
const unused = 10 * time.Minute

// CheckRabbitMQ says what is wrong with a URL, without showing a password.
func CheckRabbitMQ(url string) error {
	_, err := amqp.ParseURI(url)
	if err != nil {
		return errors.New("cannot be read: write it as amqp://user:password@host:5672/vhost")
	}
	return nil
}

// place says where a URL leads, without anything secret.
func (o RabbitMQOptions) place() string {
	uri, err := amqp.ParseURI(o.URL)
	if err != nil {
		return "a URL that cannot be read"
	}
	return fmt.Sprintf("user %s, vhost %s at %s", uri.Username, uri.Vhost, net.JoinHostPort(uri.Host, strconv.Itoa(uri.Port)))
}

// dial connects. The context bounds the handshake, too.
func (o RabbitMQOptions) dial(ctx context.Context) (*amqp.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	stop := func() bool { return true }
	conn, err := amqp.DialConfig(o.URL, amqp.Config{
		Locale: "en_US",
		Dial: func(network, addr string) (net.Conn, error) {
			var d net.Dialer
			c, err := d.DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			stop = context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) }) // ends a handshake that hangs
			return c, nil
		},
	})
	if !stop() && err == nil {
		err = errors.Join(context.Cause(ctx), conn.Close())
	}
	if err != nil {
		return nil, fmt.Errorf("connect to RabbitMQ (%s): %w%s", o.place(), err, hint(err))
	}
	return conn, nil
}

// hint is what to type next.
func hint(err error) string {
	var network *net.OpError
	var refused *amqp.Error
	switch {
	case errors.As(err, &network):
		return "; is one running there? On Debian: sudo apt-get install rabbitmq-server"
	case errors.As(err, &refused) && refused.Code == amqp.AccessRefused:
		return "; check user, password and vhost in the URL (guest may connect from the same machine only)"
	}
	return ""
}

// rabbitQueue is a durable quorum queue and, beside it, one for its dead letters. A quorum queue counts deliveries.
type rabbitQueue struct {
	options RabbitMQOptions
	conn    *amqp.Connection
	version string
}

// CreateRabbitMQ makes a queue under a name of its own.
func CreateRabbitMQ(ctx context.Context, o RabbitMQOptions) (Queue, error) {
	conn, err := o.dial(ctx)
	if err != nil {
		return nil, err
	}
	o.Queue = "idemlab." + strings.ToLower(rand.Text())
	q := &rabbitQueue{options: o, conn: conn}
	q.version, _ = conn.Properties["version"].(string)
	err = q.once(func(ch *amqp.Channel) error {
		_, err := ch.QueueDeclare(q.dead(), true, false, false, false, amqp.Table{amqp.QueueTTLArg: unused.Milliseconds()})
		if err != nil {
			return err
		}
		_, err = ch.QueueDeclare(o.Queue, true, false, false, false, amqp.Table{
			amqp.QueueTypeArg:           amqp.QueueTypeQuorum,
			amqp.QueueTTLArg:            unused.Milliseconds(),
			"x-delivery-limit":          int64(o.MostDeliveries),
			"x-dead-letter-exchange":    "",
			"x-dead-letter-routing-key": q.dead(),
		})
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("make queue %s in RabbitMQ: %w", o.Queue, err), q.Remove(ctx))
	}
	return q, nil
}

func (q *rabbitQueue) dead() string    { return q.options.Queue + ".dead" }
func (q *rabbitQueue) Version() string { return q.version }

// once works on a channel of its own: an error closes it.
func (q *rabbitQueue) once(f func(*amqp.Channel) error) error {
	ch, err := q.conn.Channel()
	if err != nil {
		return err
	}
	if err := f(ch); err != nil {
		return err
	}
	return ch.Close()
}

func (q *rabbitQueue) Address() Address { return Address{RabbitMQ: &q.options} }

// Left asks until no consumer is left: only then does the count of waiting messages hold those that consumers had in hand. AMQP
// has no way to be told.
func (q *rabbitQueue) Left(ctx context.Context) (l Left, err error) {
	for {
		var state amqp.Queue
		err := q.once(func(ch *amqp.Channel) (err error) {
			if state, err = ch.QueueDeclarePassive(q.options.Queue, true, false, false, false, nil); err != nil {
				return err
			}
			dead, err := ch.QueueDeclarePassive(q.dead(), true, false, false, false, nil)
			l = Left{Waiting: state.Messages, Dead: dead.Messages}
			return err
		})
		switch {
		case err != nil:
			return l, fmt.Errorf("count what is left in %s: %w", q.options.Queue, err)
		case state.Consumers == 0:
			return l, nil
		}
		select {
		case <-time.After(askAgain):
		case <-ctx.Done():
			return l, fmt.Errorf("wait until %s has no consumer (it has %d): %w", q.options.Queue, state.Consumers, ctx.Err())
		}
	}
}

// Remove closes the connection, too. Where that was lost, a new one is tried: the queue may still be there.
func (q *rabbitQueue) Remove(ctx context.Context) (err error) {
	if q.conn.IsClosed() {
		q.conn, err = q.options.dial(ctx)
	}
	if err == nil {
		err = errors.Join(q.once(q.remove), q.conn.CloseDeadline(time.Now().Add(connectLimit)))
	}
	if err != nil {
		return fmt.Errorf("remove queue %s: %w; RabbitMQ removes it by itself after %v", q.options.Queue, err, unused)
	}
	return nil
}

func (q *rabbitQueue) remove(ch *amqp.Channel) error {
	for _, name := range []string{q.options.Queue, q.dead()} {
		if _, err := ch.QueueDelete(name, false, false, false); err != nil {
			return err
		}
	}
	return nil
}

// rabbitmq is a way to a queue in RabbitMQ: one connection, with a channel for what is received and one for what is published,
// each made when it is first wanted.
type rabbitmq struct {
	options RabbitMQOptions
	conn    *amqp.Connection

	mu       sync.Mutex
	incoming *incoming

	publishing sync.Mutex
	out        *amqp.Channel
	returned   chan amqp.Return
}

// incoming is a channel with a consumer on it. The server closes it when a delivery was not acknowledged for too long.
type incoming struct {
	ch         *amqp.Channel
	deliveries <-chan amqp.Delivery
}

// connectRabbitMQ makes a way to a queue that CreateRabbitMQ made.
func connectRabbitMQ(ctx context.Context, o RabbitMQOptions) (Broker, error) {
	conn, err := o.dial(ctx)
	if err != nil {
		return nil, err
	}
	return &rabbitmq{options: o, conn: conn}, nil
}

// Close ends the connection; the server takes back at once what is in hand.
func (r *rabbitmq) Close() error {
	err := r.conn.CloseDeadline(time.Now().Add(connectLimit))
	if errors.Is(err, amqp.ErrClosed) {
		return nil
	}
	return err
}

func (r *rabbitmq) Publish(ctx context.Context, m Message) error {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	if err := r.publish(ctx, m); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// publish waits for the server's confirmation. A message that no queue takes is confirmed, too: it comes back first.
func (r *rabbitmq) publish(ctx context.Context, m Message) error {
	if r.out == nil || r.out.IsClosed() {
		ch, err := r.conn.Channel()
		if err != nil {
			return err
		}
		if err := ch.Confirm(false); err != nil {
			return err
		}
		r.out, r.returned = ch, ch.NotifyReturn(make(chan amqp.Return, 1))
	}
	sent, err := r.out.PublishWithDeferredConfirmWithContext(ctx, "", r.options.Queue, true, false, amqp.Publishing{
		MessageId: m.ID, Body: m.Body, DeliveryMode: amqp.Persistent, ContentType: "application/json",
	})
	if err != nil {
		return err
	}
	ok, err := sent.WaitContext(ctx)
	if err != nil {
		return err
	}
	select {
	case back := <-r.returned:
		return fmt.Errorf("queue %s: %s", r.options.Queue, back.ReplyText)
	default:
	}
	if !ok {
		return errors.New("RabbitMQ has not taken the message")
	}
	return nil
}

func (r *rabbitmq) Receive(ctx context.Context) (Delivery, error) {
	for {
		in, err := r.open()
		if r.conn.IsClosed() {
			return nil, fmt.Errorf("receive: the connection to RabbitMQ is gone (%s)", r.options.place())
		}
		if err != nil {
			return nil, fmt.Errorf("receive: %w", err)
		}
		select {
		case d, ok := <-in.deliveries:
			if ok {
				return &rabbitDelivery{d, number(d)}, nil
			}
			// Closed by the server, which has taken back what was in hand, or with the connection.
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// open returns the channel that is received on, a new one where the server has closed the last.
func (r *rabbitmq) open() (*incoming, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.incoming != nil && !r.incoming.ch.IsClosed() {
		return r.incoming, nil
	}
	ch, err := r.conn.Channel()
	if err != nil {
		return nil, err
	}
	if err := ch.Qos(r.options.Prefetch, 0, false); err != nil {
		return nil, err
	}
	deliveries, err := ch.Consume(r.options.Queue, "", false, false, false, false, nil)
	if err != nil {
		return nil, err
	}
	r.incoming = &incoming{ch, deliveries}
	return r.incoming, nil
}

// number counts deliveries by a quorum queue's header, which the first one lacks.
func number(d amqp.Delivery) int {
	n, _ := d.Headers["x-delivery-count"].(int64)
	if d.Redelivered {
		return max(2, int(n)+1)
	}
	return int(n) + 1
}

// rabbitDelivery is one delivery on a channel: it can be ended on that channel alone.
type rabbitDelivery struct {
	amqp.Delivery
	number int
}

func (d *rabbitDelivery) Message() Message { return Message{ID: d.MessageId, Body: d.Body} }
func (d *rabbitDelivery) Number() int      { return d.number }

// Ack is a word that the server does not answer. Where the channel is closed it has taken the message back.
func (d *rabbitDelivery) Ack(context.Context) error { return late(d.Delivery.Ack(false)) }

// Retry holds the message for that long: AMQP knows no delay, and a message that is given back comes again at once. It keeps its
// place in the prefetch meanwhile. Reject and not nack, which newer servers do not count.
func (d *rabbitDelivery) Retry(ctx context.Context, after time.Duration) error {
	select {
	case <-time.After(after):
	case <-ctx.Done(): // sooner, then
	}
	return late(d.Delivery.Reject(true))
}

// Reject lets the server move the message to the dead letters.
func (d *rabbitDelivery) Reject(context.Context) error { return late(d.Delivery.Reject(false)) }

func late(err error) error {
	if errors.Is(err, amqp.ErrClosed) || errors.Is(err, amqp.ErrDeliveryNotInitialized) {
		return ErrLate
	}
	return err
}
