// Package consume runs a strategy as a consumer of charge messages: delivery at least once, in place of a client that asks again.
//
// Consumers are processes of their own. At each step of a charge that the plan has an eye on, a consumer waits for word from the run:
// with the message in hand, when the acquirer has answered, before it acknowledges. There it is told to go on, or is killed with
// SIGKILL; so that a consumer dies between two steps because it is there, and not because a clock said so. What else it had in hand
// dies wherever it was.
//
// Killed consumers are started again until every message is acknowledged or among the dead letters. A claim that one of them left
// behind is cleared away by the consumer that meets it (orphans.go).
package consume

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/broker"
	"idemlab/internal/check"
	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/results"
	"idemlab/scenarios"
)

// Options say what to run. All fields but those marked optional must be set.
type Options struct {
	Scenario scenarios.Scenario
	Strategy scenarios.Strategy

	Broker   Broker
	KeyFrom  KeyFrom
	Charges  int // one message for each, and for some a second
	Kills    int // consumers to kill, at most one for each charge
	Second   Second
	Prefetch int // messages that each consumer has in hand

	Consumers      int           // operating-system processes
	MaxDeliveries  int           // of one message, before it is set aside
	RetryAfter     time.Duration // until a message that was given back is delivered again
	OrphanAfter    time.Duration // age of a claim without an answer from which on the acquirer is asked; longer than AttemptTimeout
	AttemptTimeout time.Duration

	Isolation pgx.TxIsoLevel
	Acquirer  acquirer.Options
	Lease     time.Duration // of strategies that lease; 0 is each one's own
	Seed      uint64
	Expect    check.Expectation

	// Control is the violation forced beforehand on this server: without one that was caught nothing is believed to hold. Optional.
	Control *results.Control

	DDL   string   // of schema.sql or what stands for it
	Child []string // the command line that makes this program answer as a consumer (ServeConsumer)
	// Done counts messages that have come to their end, for whoever shows progress. Optional.
	Done *atomic.Int64
}

// Broker says which broker, and how it behaves.
type Broker struct {
	Name string // Postgres or RabbitMQ
	URL  string // of RabbitMQ
	// Window and Dedup are of Postgres alone.
	Window, Dedup time.Duration
}

// The brokers.
const (
	Postgres = "postgres"
	RabbitMQ = "rabbitmq"
)

// KeyFrom says what a consumer takes for the idempotency key.
type KeyFrom string

// Where the key is.
const (
	Payload   KeyFrom = "payload"    // made by whoever wants to pay, and in the message
	MessageID KeyFrom = "message-id" // made by the producer for each message
)

// Second says what a producer does that is not sure whether its message arrived.
type Second struct {
	Share float64       // of the charges that are sent a second time
	Same  bool          // under the ID of the first, and not a new one
	After time.Duration // the first
}

// Connections is how many a run holds at the most. Twice those of its consumers: the server may take a moment to notice that one
// was killed.
func (o Options) Connections() int {
	const overhead = 4 // the schema's lock, one to prepare and read, two about the queue
	return 2*o.Consumers*(o.Prefetch+broker.PostgresConnections+1) + broker.PostgresConnections + overhead
}

// ErrServerLost says that the server went away or failed during the run. What was measured until then is in the result.
var ErrServerLost = errors.New("PostgreSQL went away or failed")

// Run lets one strategy consume. The result is worth reading on an error too, and where the context ended (Status Aborted, no
// error): it holds what was measured until then.
func Run(ctx context.Context, srv *server.Server, o Options) (run results.Run, err error) {
	o.Acquirer.Dedup = o.Acquirer.Dedup || o.Strategy.WantsDedup
	run = describe(srv, o)
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()

	ev, err := o.measure(ctx, srv)
	if ev != nil {
		ev.fill(&run)
		verdict(&run, o, ev)
	}
	return check.Ended(ctx, run, err)
}

// evidence is everything that a run measured, before it is judged.
type evidence struct {
	options Options
	book    *book
	version string // of the broker
	left    *broker.Left
	ledger  map[string]acquirer.Count
	rows    map[int64][]scenarios.Row // by order; nil where they could not be read
}

// cleanUp bounds what is done after the run, also after Ctrl-C.
const cleanUp = 15 * time.Second

// measure makes the tables and the queue, lets producer and consumers work, and reads back what is left. On an error the evidence
// is nil where nothing was measured.
func (o Options) measure(ctx context.Context, srv *server.Server) (_ *evidence, err error) {
	schema, err := tables.Create(ctx, srv, o.DDL, o.Strategy)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, after(ctx, schema.Drop)) }()
	charges := newCharges(o)
	if err := o.prepare(ctx, schema, charges); err != nil {
		return nil, err
	}
	queue, err := o.queue(ctx, schema)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, after(ctx, queue.Remove)) }()
	acq := acquirer.New(o.Acquirer)
	url, hangUp, err := acq.Listen(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, hangUp()) }()

	ev := &evidence{options: o, book: newBook(charges, plan(o)), version: queue.Version()}
	s := o.setup(srv, schema, queue.Address(), url)
	runErr := newFloor(o, ev.book, queue, s, schema.Config()).run(ctx)
	ev.ledger = acq.Counts()
	leftErr := after(ctx, func(ctx context.Context) error {
		left, err := queue.Left(ctx)
		if err == nil {
			ev.left = &left
		}
		return err
	})
	rowsErr := after(ctx, func(ctx context.Context) error { return ev.readRows(ctx, schema) })
	if runErr != nil {
		return ev, runErr // what follows from it need not be said
	}
	return ev, errors.Join(leftErr, rowsErr)
}

// after runs what must be done whether or not the context has ended.
func after(ctx context.Context, f func(context.Context) error) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
	defer cancel()
	return f(last)
}

// prepare makes what must be there before a charge is asked for, such as the order's row.
func (o Options) prepare(ctx context.Context, schema *server.Schema, charges []*charge) error {
	conn, err := pgx.ConnectConfig(ctx, schema.Config())
	if err != nil {
		return fmt.Errorf("connect to prepare the charges: %w", err)
	}
	defer server.CloseConn(ctx, conn)
	return pgx.BeginFunc(ctx, conn, func(pgx.Tx) error {
		for _, c := range charges {
			if err := instance.Prepare(ctx, conn, o.Scenario, o.Strategy, c.req, 1); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o Options) queue(ctx context.Context, schema *server.Schema) (broker.Queue, error) {
	if o.Broker.Name == RabbitMQ {
		return broker.CreateRabbitMQ(ctx, broker.RabbitMQOptions{
			URL: o.Broker.URL, Prefetch: o.Prefetch,
			// The consumer's own bound comes first, and a consumer that is killed on its way there needs some more.
			MostDeliveries: o.MaxDeliveries + o.Kills + 10,
		})
	}
	cfg := schema.Config()
	cfg.RuntimeParams["application_name"] = schema.Name() + " queue"
	return broker.CreatePostgres(ctx, cfg, broker.PostgresOptions{Window: o.Broker.Window, Dedup: o.Broker.Dedup})
}

// readRows reads the table from outside, on a connection of its own.
func (ev *evidence) readRows(ctx context.Context, schema *server.Schema) error {
	conn, err := pgx.ConnectConfig(ctx, schema.Config())
	if err != nil {
		return fmt.Errorf("connect to read the rows: %w", err)
	}
	defer server.CloseConn(ctx, conn)
	rows := map[int64][]scenarios.Row{}
	err = tables.EachRow(ctx, conn, ev.options.Scenario, 0, firstOrder, func(r scenarios.Row) {
		rows[r.OrderID] = append(rows[r.OrderID], r)
	})
	if err == nil {
		ev.rows = rows
	}
	return err
}
