// Package broker is where charge messages wait for a consumer: a queue that delivers each message at least once, which is to
// say sometimes twice.
//
// Broker is what a service sees, and small on purpose: Publish, Receive, Close, and on a delivery three ways to end it. It is what the
// brokers in use have in common. With SQS, Receive would be ReceiveMessage with ApproximateReceiveCount for a number, Ack DeleteMessage,
// Retry ChangeMessageVisibility; with Kafka, Ack would be a commit of offsets in order, and Retry and Reject another topic with the number
// in a header, since Kafka counts no deliveries. Neither is here: an adapter is worth what it was run against.
package broker

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// Message is one message as its producer sends it.
type Message struct {
	// ID is the producer's. A message that is delivered again has the ID it had; a producer that sends again chooses whether
	// its second message has the ID of the first.
	ID   string
	Body []byte
}

// Broker is one program's way to a queue. It is safe for concurrent use.
type Broker interface {
	// Publish returns when the broker has taken the message and will not lose it, or ErrDropped.
	Publish(ctx context.Context, m Message) error
	// Receive waits for the next delivery.
	Receive(ctx context.Context) (Delivery, error)
	// Close lets the broker have back what was received and not ended.
	Close() error
}

// Delivery is one message in the hands of one consumer, which must end it in one of three ways. What it does not end, because it
// takes too long or dies, is delivered again.
type Delivery interface {
	Message() Message
	// Number is 1 where the broker has not delivered the message before. Brokers that do not count say 2 for every other time.
	Number() int
	// Ack ends the message: it is done. ErrLate says that the consumer was too late to say so.
	Ack(ctx context.Context) error
	// Retry gives the message back, to be delivered again after some time.
	Retry(ctx context.Context, after time.Duration) error
	// Reject sets the message aside, among the dead letters: it is not delivered again.
	Reject(ctx context.Context) error
}

// ErrDropped says that the broker took a message for one that it has taken before, and dropped it.
var ErrDropped = errors.New("dropped by the broker's own deduplication")

// ErrLate says that a delivery was not the consumer's any more: the broker gave it to another in the meantime.
var ErrLate = errors.New("too late: the broker has taken the message back")

// Queue is a queue of one run's own, as the lab sees it: it makes it, hands it to producers and consumers, and takes it away.
type Queue interface {
	// Address is how any process finds the queue.
	Address() Address
	// Left waits until no consumer is connected and says what they left.
	Left(ctx context.Context) (Left, error)
	// Version is the broker's.
	Version() string
	// Remove takes the queue away, with what is in it.
	Remove(ctx context.Context) error
}

// Left is what is in a queue when nobody is at work.
type Left struct {
	Waiting int // to be delivered, now or later
	Dead    int // set aside
}

// Address is how a process finds a queue: one of the fields is set.
type Address struct {
	PostgreSQL *PostgresOptions `json:",omitempty"`
	RabbitMQ   *RabbitMQOptions `json:",omitempty"`
}

// Connect makes a way to the queue. db leads to the schema of a queue in PostgreSQL.
func (a Address) Connect(ctx context.Context, db *pgx.ConnConfig) (Broker, error) {
	switch {
	case a.PostgreSQL != nil:
		return connectPostgres(ctx, db, *a.PostgreSQL)
	case a.RabbitMQ != nil:
		return connectRabbitMQ(ctx, *a.RabbitMQ)
	}
	return nil, errors.New("connect to a queue: its address is empty")
}
