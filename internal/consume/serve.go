package consume

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"idemlab/internal/acquirer"
	"idemlab/internal/broker"
	"idemlab/internal/instance"
	"idemlab/internal/recovery"
	"idemlab/internal/server"
	"idemlab/scenarios"
)

// ServeConsumer is a consumer, in a process of its own: it reads its setup from stdin and works until the run tells it to stop, closes
// the pipe or dies.
func ServeConsumer(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	l := newLine(stdin, stdout)
	var s setup
	if err := l.dec.Decode(&s); err != nil {
		return fmt.Errorf("read setup: %w", err)
	}
	c, err := s.open(ctx)
	if err != nil {
		return l.enc.Encode(report{Step: ready, Error: err.Error()})
	}
	defer c.close()
	if err := l.enc.Encode(report{Step: ready}); err != nil {
		return err
	}
	c.line = l
	receiving, stop := context.WithCancel(ctx)
	defer stop()
	go c.obey(stop, end)
	return c.consume(ctx, receiving)
}

// consumer is one process's part of the work.
type consumer struct {
	setup
	strategy scenarios.Strategy
	inst     *instance.Instance
	queue    broker.Broker
	acquirer *acquirer.Remote
	orphans  *pgxpool.Pool
	// reconcile clears away the claims of an order that are too old to be anybody's.
	reconcile func(ctx context.Context, db *pgxpool.Pool, acq scenarios.Acquirer, o recovery.Options) (reconciled, error)

	saying sync.Mutex
	line   line
	goOn   []chan struct{} // for each worker
}

func (s setup) open(ctx context.Context) (_ *consumer, err error) {
	strategy, ok := scenarios.Named(s.Strategy)
	if !ok {
		return nil, fmt.Errorf("no strategy %q in this program", s.Strategy)
	}
	cfg, err := server.ParseDSN(s.DSN)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["search_path"] = s.SearchPath
	named := func(what string) *pgx.ConnConfig {
		c := cfg.Copy()
		c.RuntimeParams["application_name"] = s.AppName + " " + what
		return c
	}
	c := &consumer{setup: s, strategy: strategy, reconcile: reconcile, goOn: make([]chan struct{}, s.Workers)}
	for i := range c.goOn {
		c.goOn[i] = make(chan struct{}, 1) // a word that comes when nobody waits any more holds up nobody
	}
	c.inst, err = instance.Open(ctx, instance.Config{
		Conn: named("attempts"), Pool: s.Workers, Isolation: s.Isolation, Strategy: strategy, Seed: s.Seed, Lease: s.Lease,
	})
	if err != nil {
		return nil, err
	}
	c.acquirer = acquirer.Dial(s.Acquirer, s.Workers)
	if c.orphans, err = orphanPool(ctx, named("orphans")); err == nil {
		c.queue, err = s.Queue.Connect(ctx, named("queue"))
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *consumer) close() {
	if c.queue != nil {
		_ = c.queue.Close() // what is in hand is delivered again in any case
	}
	if c.orphans != nil {
		c.orphans.Close()
	}
	c.inst.Close()
	c.acquirer.Close()
}

// obey reads what the run wants. The end of the pipe is the end of the run.
func (c *consumer) obey(stop, end func()) {
	for {
		var o order
		if err := c.line.dec.Decode(&o); err != nil {
			end()
			return
		}
		if o.Stop {
			stop()
		}
		if o.Go != nil {
			c.goOn[*o.Go] <- struct{}{}
		}
	}
}

// consume lets the workers work until receiving ends; ctx is what they then still have in hand.
func (c *consumer) consume(ctx, receiving context.Context) error {
	workers, ctx := errgroup.WithContext(ctx)
	receiving, stop := context.WithCancel(receiving)
	defer stop()
	context.AfterFunc(ctx, stop) // one that fails ends the others
	for n := range c.Workers {
		workers.Go(func() error {
			for {
				d, err := c.queue.Receive(receiving)
				if receiving.Err() != nil {
					return nil
				}
				if err != nil {
					return err
				}
				if err := c.serve(ctx, n, d); err != nil {
					return err
				}
			}
		})
	}
	return workers.Wait()
}

// say reports. The run reads all the time.
func (c *consumer) say(r report) error {
	c.saying.Lock()
	defer c.saying.Unlock()
	return c.line.enc.Encode(r)
}

// sayAndWait reports and waits for the word to go on: here a consumer may die.
func (c *consumer) sayAndWait(ctx context.Context, r report) error {
	if err := c.say(r); err != nil {
		return err
	}
	select {
	case <-c.goOn[r.Worker]:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serve takes one delivery from the hand of the broker to its end.
func (c *consumer) serve(ctx context.Context, worker int, d broker.Delivery) error {
	m := d.Message()
	req, charge, err := c.KeyFrom.read(m)
	if err != nil {
		return err
	}
	at := report{Worker: worker, Message: m.ID, Order: req.OrderID, Number: d.Number()}
	if d.Number() > c.MaxDeliveries {
		return c.end(at, setAside, d.Reject(ctx))
	}
	if err := c.sayAndWait(ctx, at.of(received)); err != nil {
		return err
	}
	a, err := c.attempt(ctx, at, charge, req)
	if err != nil {
		return err
	}
	if a.final() {
		return c.end(at, acked, d.Ack(ctx))
	}
	return c.end(at, givenBack, d.Retry(ctx, c.RetryAfter))
}

// attempt asks the strategy, and once more where it was a claim without an owner that stood in the way.
func (c *consumer) attempt(ctx context.Context, at report, charge string, req scenarios.Request) (*attempt, error) {
	a, err := c.ask(ctx, at, charge, req)
	if err != nil || a.final() {
		return a, err
	}
	acq := c.acquirer.For(charge)
	did, err := c.reconcile(ctx, c.orphans, acq, recovery.Options{
		Lease: c.OrphanAfter, FromOrder: req.OrderID, OnlyOrder: req.OrderID, AcquirerKey: c.strategy.AcquirerKey,
	})
	if err != nil || did == (reconciled{}) {
		return a, err
	}
	at = at.of(cleared)
	at.Orphans = &did
	if err := c.say(at); err != nil {
		return nil, err
	}
	return c.ask(ctx, at, charge, req)
}

func (c *consumer) ask(ctx context.Context, at report, charge string, req scenarios.Request) (*attempt, error) {
	limited, cancel := context.WithTimeout(ctx, c.AttemptTimeout)
	defer cancel()
	acq := told{c.acquirer.For(charge), func() error { return c.sayAndWait(ctx, at.of(captured)) }}
	a := attemptOf(c.inst.Handle(limited, acq, req))
	at = at.of(answered)
	at.Attempt = a
	if err := c.sayAndWait(ctx, at); err != nil {
		return nil, err
	}
	if a.LostServer {
		return nil, fmt.Errorf("%w: %s", ErrServerLost, a.Err)
	}
	return a, nil
}

func (r report) of(s step) report {
	r.Step, r.Attempt, r.Orphans = s, nil, nil
	return r
}

// end reports how a delivery ended, or that the broker had taken the message back in the meantime.
func (c *consumer) end(at report, how step, err error) error {
	if errors.Is(err, broker.ErrLate) {
		how, err = late, nil
	}
	if err != nil {
		return err
	}
	return c.say(at.of(how))
}

// told is an acquirer whose answer the run hears of before the strategy does.
type told struct {
	scenarios.Acquirer
	say func() error
}

func (t told) Capture(ctx context.Context, ch scenarios.Charge) (scenarios.Receipt, error) {
	r, err := t.Acquirer.Capture(ctx, ch)
	if err == nil && t.say() != nil {
		return scenarios.Receipt{}, fmt.Errorf("%w: the consumer ends", scenarios.ErrOutcomeUnknown)
	}
	return r, err
}
