package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/instance"
	"idemlab/internal/lockwait"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/results"
)

// BystanderOptions say how to disturb whom. Its cells are every number of hot attempts with every latency.
type BystanderOptions struct {
	Options // of which the load's shape is not used: what is set here stands for it

	Unrelated time.Duration // what the acquirer takes for the unrelated attempts
	Hot       []int
	Latencies []time.Duration // of the acquirer for the hot attempts
	// Cell is told of each cell that is done, for whoever shows it. Optional.
	Cell func(done, of int, c results.BystanderCell)
}

// pingEvery is the gap between two SELECT 1, and kneeBelow the share of the undisturbed rate at which the knee is.
const (
	pingEvery = 10 * time.Millisecond
	kneeBelow = 0.5
)

// Bystander measures what attempts at one key do to attempts at others, and to a plain SELECT 1, that share nothing with them but
// the pool: first undisturbed, then beside the hot attempts, cell by cell. It is judged by the ledger like any run.
func Bystander(ctx context.Context, srv *server.Server, o BystanderOptions) (run results.Run, err error) {
	o.Acquirer.Dedup = o.Acquirer.Dedup || o.Strategy.WantsDedup
	run = describe(srv, o.Options)
	run.Engine, run.Control = "bystander", o.Control
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()

	b := &results.Bystander{Cells: []results.BystanderCell{}, Settings: results.BystanderSettings{
		Clients: o.Clients, AcquirerMS: results.MS(o.Unrelated), PingsPerSecond: 1 / pingEvery.Seconds(),
		DurationMS: results.MS(o.Duration), Pool: o.Pool, KneeBelow: kneeBelow,
	}}
	run.Bystander = b
	m, err := o.measureBystander(ctx, srv, b)
	b.Knee = knee(b)
	if m != nil {
		run.Anomalies = m.anomalies()
		t := m.book.totals
		run.Counts = &results.Counts{Intents: t.intents, IntentsCharged: &t.charged, Attempts: t.attempts, AcquirerCounts: m.counts()}
		run.Answers, run.SQLStates = t.answers, t.sqlstates
		verdict(&run, o.Options, m)
	}
	return check.Ended(ctx, run, err)
}

func (o BystanderOptions) measureBystander(ctx context.Context, srv *server.Server, b *results.Bystander) (_ *measurement, err error) {
	schema, err := tables.Create(ctx, srv, o.DDL, o.Strategy)
	if err != nil {
		return nil, err
	}
	defer func() { err = leave(ctx, schema, err) }()
	inst, err := instance.Open(ctx, instance.Config{
		Conn: attemptsConfig(schema), Pool: o.Pool, Isolation: o.Isolation, Strategy: o.Strategy, Seed: o.Seed, Lease: o.Lease,
	})
	if err != nil {
		return nil, err
	}
	defer inst.Close()
	if err := inst.WarmUp(ctx); err != nil {
		return nil, err
	}
	aside, err := pgx.ConnectConfig(ctx, schema.Config())
	if err != nil {
		return nil, fmt.Errorf("connect to prepare the hot intents: %w", err)
	}
	defer server.CloseConn(ctx, aside)

	quick := o.Acquirer
	quick.Latency = acquirer.Fixed(o.Unrelated)
	o.RepeatShare, o.HotShare, o.Instances = 0, 0, 1
	s := &street{o: o, schema: schema, inst: inst, aside: aside, acq: acquirer.New(quick)}
	s.m = newMeasurement(o.Options, s.acq)
	s.m.least2 = 1 // these are made to overlap
	for i, hot := range o.Hot {
		for n, latency := range o.Latencies {
			c, err := s.cell(ctx, hot, latency)
			if err == nil && s.m.book.totals.lost != "" {
				err = fmt.Errorf("%w: %s", ErrServerLost, s.m.book.totals.lost)
			}
			if err != nil || ctx.Err() != nil {
				return s.end(ctx), err
			}
			b.Cells = append(b.Cells, c)
			if o.Cell != nil {
				o.Cell(i*len(o.Latencies)+n+1, len(o.Hot)*len(o.Latencies), c)
			}
		}
	}
	return s.end(ctx), nil
}

// street is where the accident happens, and the bystanders stand.
type street struct {
	o      BystanderOptions
	schema *server.Schema
	inst   *instance.Instance
	aside  *pgx.Conn
	acq    *acquirer.Acquirer // of the unrelated attempts
	m      *measurement
	seq    uint64 // of the next unrelated attempt
	hots   uint64 // of the next hot intent
	read   error
}

// end settles what is open and reads the rows.
func (s *street) end(ctx context.Context) *measurement {
	s.m.book.settleAll()
	if err := s.m.readRows(ctx, s.schema); err != nil {
		s.read = err // the verdict says that the rows could not be read
	}
	return s.m
}

// cell measures undisturbed, then beside the hot attempts.
func (s *street) cell(ctx context.Context, hot int, latency time.Duration) (c results.BystanderCell, err error) {
	c = results.BystanderCell{Hot: hot, AcquirerLatencyMS: results.MS(latency)}
	if c.Undisturbed, err = s.watch(ctx, s.o.Duration/2, nil); err != nil {
		return c, err
	}
	sampler, err := lockwait.Start(ctx, s.schema.Config(), appName(s.schema))
	if err != nil {
		return c, err
	}
	length := max(s.o.Duration, latency*3/2) // long enough for one whole accident
	c.MeasuredMS = results.MS(length)
	crowd := &crowd{street: s, hot: hot, latency: latency}
	c.Disturbed, err = s.watch(ctx, length, crowd)
	samples, sampleErr := sampler.Stop()
	if err = errors.Join(err, sampleErr, crowd.err); err != nil {
		return c, err
	}
	if c.Undisturbed.PerSecond > 0 { // a share of nothing is none
		share := round(c.Disturbed.PerSecond / c.Undisturbed.PerSecond)
		c.Share = &share
	}
	c.HotCaptures = crowd.captures
	c.Connections = results.Connections{HeldSeconds: seconds(crowd.held), IdleInTxSeconds: seconds(samples.IdleInTx)}
	if crowd.captures > 0 {
		each := round(crowd.held.Seconds() / float64(crowd.captures))
		c.Connections.SecondsPerCapture = &each
	}
	var waits []time.Duration
	for _, w := range samples.Waits {
		waits = append(waits, w.Length)
	}
	c.LockWaits.Distribution = results.Distribute(waits)
	for _, event := range lockwait.Counted() {
		c.MaxLockWaiters = max(c.MaxLockWaiters, samples.Events[event].MaxWaiters)
	}
	c.MaxWaitingForPool = crowd.queue
	c.Blocking = blocking(samples.Waits)
	return c, nil
}

// watch keeps the unrelated clients and the pings going for so long, beside the crowd if there is one.
func (s *street) watch(ctx context.Context, length time.Duration, c *crowd) (u results.Unrelated, err error) {
	d := &driver{
		job:  job{Plan: s.m.book.plan, Of: 1, Clients: s.o.Clients, Timeout: s.o.AttemptTimeout},
		inst: s.inst, acquire: s.acq.For, meter: newMeter(), limit: newPatience(s.o.AttemptTimeout),
	}
	d.next.Store(s.seq)
	if d.ahead, err = startPreparer(ctx, s.schema.Config(), s.o.Scenario, s.o.Strategy, d); err != nil {
		return u, err
	}
	start := time.Now()
	w := window{Start: start, Warm: start, End: start.Add(length)}
	d.Window = w
	var all sync.WaitGroup
	all.Go(func() { d.drive(ctx) })
	pings := newPinger(s.inst)
	all.Go(func() { pings.run(ctx, w) })
	if c != nil {
		all.Go(func() { c.run(ctx, w) })
	}
	sum := newTally()
	var facts []fact
	if sleep(ctx, time.Until(w.End)) { // what is answered later does not belong to the rate; what it took does belong to the times
		facts = d.meter.collect(sum)
	}
	u.PerSecond = round(float64(int(sum.Answered.TotalCount())-sum.Failed) / length.Seconds())
	all.Wait()
	facts = append(facts, d.meter.collect(sum)...)
	u.Failed = sum.Failed
	s.m.book.enter(0, facts)
	s.seq = d.next.Load()
	u.Response, u.Ping = latency(sum.Response, sum.MaxResponse), latency(pings.took, pings.most)
	return u, d.ahead.stop(ctx)
}

// crowd is the attempts at one hot key after another.
type crowd struct {
	*street
	hot     int
	latency time.Duration

	captures int
	held     time.Duration
	queue    int // most that waited for a connection
	err      error
}

func (c *crowd) run(ctx context.Context, w window) {
	slow := c.o.Acquirer
	slow.Latency = acquirer.Fixed(c.latency)
	acq := acquirer.New(slow)
	work, end := outlast(ctx)
	defer end()
	for ctx.Err() == nil && time.Now().Before(w.End) {
		number := hotNumbers + c.hots
		c.hots++
		req := c.m.book.plan.request(errand{intent: number})
		if c.err = instance.Prepare(ctx, c.aside, c.o.Scenario, c.o.Strategy, req, c.hot); c.err != nil {
			if ctx.Err() != nil {
				c.err = nil
			}
			return
		}
		records := make([]instance.Record, c.hot)
		var all sync.WaitGroup
		for i := range records {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(work, c.o.AttemptTimeout)
				defer cancel()
				records[i] = c.inst.Handle(ctx, acq.For(req.Key), req)
			})
		}
		ended := make(chan struct{})
		go func() { all.Wait(); close(ended) }()
		c.look(ended)
		count := acq.Settle(req.Key)
		c.captures += count.Captures
		for _, r := range records {
			for _, h := range r.Holds {
				c.held += h.To.Sub(h.From)
			}
		}
		for _, r := range records {
			c.m.book.attempt(errand{intent: number, last: hotNumbers}, factOf(0, &r, r.Err != "" && context.Cause(work) != nil))
		}
		c.m.book.settle(number, req, count)
	}
}

// look watches the pool's queue until the attempts are answered.
func (c *crowd) look(ended <-chan struct{}) {
	tick := time.NewTicker(lockwait.Interval)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			c.queue = max(c.queue, c.inst.Waiting())
		}
	}
}
