// Package retry is a client with a time-out and a retry policy against a strategy behind a path on which things go wrong. All of it is
// real: the service is a process of its own that is killed with SIGKILL and replaced on the same tables, PostgreSQL is made to
// crash, and the acquirer is reached over HTTP, or, where the effect is an e-mail, over SMTP. Nothing is sent twice but by the policy.
//
// What the customer was told last is set against what the acquirer took: a request that times out says nothing about the money.
package retry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/fault"
	"idemlab/internal/intents"
	"idemlab/internal/server"
	"idemlab/internal/service"
	"idemlab/internal/tables"
	"idemlab/results"
	"idemlab/scenarios"
)

// Options say what to run. All fields but those marked optional must be set.
type Options struct {
	Strategy scenarios.Strategy // of the scenario charge

	Intents     int
	Concurrency int // customers at a time
	Clicks      int // taps of each, within the time-out

	Timeout       time.Duration // of one request
	Retries       int           // of each tap
	Backoff       Backoff
	RetryAfterCap time.Duration // the service's Retry-After is honoured up to this
	KeyPolicy     KeyPolicy

	Faults    []fault.Fault // All expanded, see Asked
	Asked     []fault.Fault // as typed: only of these is it a reproach that they never struck
	Reconcile bool

	Instances int // processes of the service
	Pool      int // connections of each
	Isolation pgx.TxIsoLevel
	Acquirer  acquirer.Options
	Effect    scenarios.Effect // what the service asks of it
	Lease     time.Duration    // of strategies that lease; 0 is each one's own
	Seed      uint64
	Expect    check.Expectation
	DDL       string
	Keep      bool

	// Control is what became of a double charge forced on this server beforehand.
	Control *results.Control
	// Child is the command line that makes this program a service (ServeChild).
	Child []string
	// Done counts customers who have left. Optional.
	Done *atomic.Int64
	// Kept is told the name of the schema that Keep left behind. Optional.
	Kept func(schema string)
}

// Overhead is how many connections a run holds beside those of its services: the schema's lock, a reconciler, a reader, one to crash.
const Overhead = 4

// Connections is how many a run needs. A killed process's connections are there until PostgreSQL notices, while those of the one in
// its place are made.
func (o Options) Connections() int {
	return 2*o.Instances*(o.Pool+service.Overhead+3) + Overhead
}

// reconcileAfter is the age at which a claim is taken for an orphan while the run goes on: longer than a call to the acquirer as a
// rule. Where it is not nothing is lost: the reconciler only writes what the acquirer says has happened.
func (o Options) reconcileAfter() time.Duration {
	if o.Lease > 0 {
		return o.Lease
	}
	return max(500*time.Millisecond, 4*o.Acquirer.Latency.Mean())
}

// attemptTimeout is the service's own limit, far beyond its clients'.
func (o Options) attemptTimeout() time.Duration {
	return max(time.Minute, 10*o.Acquirer.Latency.Mean())
}

// lateBy is how much later an answer comes that is late: the client has gone by then.
func (o Options) lateBy() time.Duration { return o.Timeout }

// ErrServiceLost says that the service could not be kept running. What was measured until then is in the result.
var ErrServiceLost = errors.New("the service could not be kept running")

// runner is one run under way.
type runner struct {
	o      Options
	srv    *server.Server
	schema *server.Schema
	acq    *acquirer.Acquirer
	finder scenarios.Acquirer // the reconciler's: it asks at the door at which the service asks
	plan   *fault.Plan
	fleet  *fleet
	fail   context.CancelCauseFunc

	customers []*customer
	byIntent  map[string]*customer

	sent    atomic.Int64 // requests of the run, for the restarts
	dealt   atomic.Int64 // requests dealt over the places
	crashes atomic.Int64
	crash   sync.Mutex

	crashing sync.WaitGroup

	deaths, starts int // of fleets that have ended

	reconciled results.RetryReconciliation
	before     *snapshot // when nothing was in flight any more
	after      *snapshot // at the end
}

// Run makes the run. The result is worth reading on an error too.
func Run(ctx context.Context, srv *server.Server, o Options) (run results.Run, err error) {
	o.Acquirer.Dedup = o.Acquirer.Dedup || o.Strategy.WantsDedup
	run = describe(srv, o)
	run.Control = o.Control
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()

	r := &runner{o: o, srv: srv, acq: acquirer.New(o.Acquirer), plan: fault.NewPlan(o.Seed, o.Faults), byIntent: map[string]*customer{}}
	for n := range o.Intents {
		c := newCustomer(o.Seed, n, &story{})
		r.customers = append(r.customers, c)
		r.byIntent[c.of.Key] = c
	}
	err = r.measure(ctx)
	r.fill(&run)
	r.judge(&run)
	return check.Ended(ctx, run, err)
}

// measure makes the tables and the acquirer, lets the customers come, and brings what is left to its end.
func (r *runner) measure(ctx context.Context) (err error) {
	if r.schema, err = tables.Create(ctx, r.srv, r.o.DDL, r.o.Strategy); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.leave(ctx)) }()
	if err := r.schema.Share(ctx); err != nil { // the services hold it, too: should this process be killed, the last of them drops it
		return err
	}
	if err := r.setFaults(); err != nil {
		return err
	}
	url, hangUp, err := r.acq.ListenFor(ctx, r.o.Effect)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hangUp()) }()
	door, err := acquirer.At(url, 1)
	if err != nil {
		return err
	}
	defer door.Close()
	r.finder = door.For("reconciler")

	if err := r.come(ctx, url); err != nil {
		return err
	}
	return r.settle(ctx, url)
}

// setFaults hands the acquirer those that are its own.
func (r *runner) setFaults() error {
	var rules []acquirer.Rule
	var numbers []int
	for i, f := range r.plan.Faults() {
		if f.Step != fault.Capture {
			continue
		}
		rule := acquirer.Rule{Fault: kindAtAcquirer(f.Kind), Nth: max(1, f.When.Nth), Share: f.When.Percent / 100}
		if f.When.Percent > 0 {
			rule.Nth = 0
		}
		if rule.Fault == acquirer.Late {
			rule.DelayMS = results.MS(r.o.lateBy())
		}
		rules, numbers = append(rules, rule), append(numbers, i)
	}
	r.acq.OnStrike(func(intent string, rule int) {
		r.plan.Strike(numbers[rule])
		if c := r.byIntent[intent]; c != nil {
			c.story.say("fault: %s", r.o.Faults[numbers[rule]])
		}
	})
	return r.acq.SetFaults(rules)
}

func kindAtAcquirer(k fault.Kind) acquirer.Fault {
	switch k {
	case fault.RequestLost:
		return acquirer.LostRequest
	case fault.ReplyLost:
		return acquirer.LostReply
	}
	return acquirer.Fault(k) // the others have one name
}

// launch starts the service's processes.
func (r *runner) launch(ctx context.Context, url string, points []string) (*fleet, error) {
	f := &fleet{
		command: r.o.Child, conns: r.o.Concurrency * r.o.Clicks, asked: r.asked, died: func(int) {},
		setup: setup{
			DSN: r.srv.DSN(), Tables: r.schema.Name(), Pool: r.o.Pool, Isolation: r.o.Isolation, Strategy: r.o.Strategy.Name,
			Seed: r.o.Seed, Lease: r.o.Lease, Acquirer: url, Timeout: r.o.attemptTimeout(), RetryAfter: time.Second, Points: points,
		},
	}
	return f, startFleet(ctx, f, r.o.Instances)
}

// asked answers a process that has come to a point, and puts what follows into the intent's story.
func (r *runner) asked(q question) bool {
	f, struck := r.plan.Reach(q.Point, q.Intent)
	if c := r.byIntent[q.Intent]; struck && c != nil {
		c.story.say("fault: %s", f)
	}
	return struck
}

// come lets the customers come, some at a time, and returns when the last request in flight has ended.
func (r *runner) come(ctx context.Context, url string) error {
	work, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.fail = cancel
	var err error
	r.fleet, err = r.launch(work, url, r.plan.Points())
	defer r.disband()
	if err != nil {
		return r.lost(ctx, err)
	}
	stop := r.reconcileMeanwhile(work)
	defer stop()
	queue := make(chan *customer)
	var workers sync.WaitGroup
	for range min(r.o.Concurrency, r.o.Intents) {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for c := range queue {
				c.pay(work, r)
				if r.o.Done != nil {
					r.o.Done.Add(1)
				}
			}
		}()
	}
	for _, c := range r.customers {
		if work.Err() != nil {
			break
		}
		queue <- c
	}
	close(queue)
	workers.Wait()
	r.crashing.Wait() // what comes next wants a server
	if cause := context.Cause(work); cause != nil {
		return r.lost(ctx, cause)
	}
	return nil
}

// lost tells the user's own end from the run's.
func (r *runner) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: %w", ErrServiceLost, err)
}

// disband lets the processes finish, and adds up what became of them.
func (r *runner) disband() {
	r.fleet.end()
	r.deaths += int(r.fleet.kills.Load())
	r.starts += int(r.fleet.starts.Load())
}

// place deals requests over the processes.
func (r *runner) place() *slot {
	return r.fleet.slots[int(r.dealt.Add(1)-1)%len(r.fleet.slots)]
}

// attempted counts a request of the run, and makes the server crash at those that were named. The request does not wait for that.
func (r *runner) attempted(ctx context.Context) {
	n := int(r.sent.Add(1))
	for i, f := range r.plan.Faults() {
		if f.Kind != fault.Restart || f.When.Nth != n || r.plan.IsOff() {
			continue
		}
		r.crashing.Add(1)
		go func() {
			defer r.crashing.Done()
			r.crash.Lock() // one after another
			defer r.crash.Unlock()
			if ctx.Err() != nil {
				return
			}
			if err := r.srv.Crash(ctx); err != nil {
				r.fail(err)
				return
			}
			r.plan.Strike(i)
			r.crashes.Add(1)
		}()
	}
}

// connect connects to the tables, and has patience with a server that recovers.
func (r *runner) connect(ctx context.Context) (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	for {
		conn, err := pgx.ConnectConfig(ctx, r.schema.Config())
		if err == nil {
			return conn, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to the tables: %w", err)
		case <-time.After(50 * time.Millisecond): // a server that recovers tells nobody when it has
		}
	}
}

// leave drops the schema, or keeps it and says so. The services are gone by now, so that nobody else is asked.
func (r *runner) leave(ctx context.Context) error {
	if r.o.Keep {
		r.schema.Keep()
		if r.o.Kept != nil {
			r.o.Kept(r.schema.Name())
		}
	}
	return r.schema.Drop(context.WithoutCancel(ctx))
}

// firstOrder is the least order of the run's own: those of the warm-ups are below.
const firstOrder = intents.FirstOrder
