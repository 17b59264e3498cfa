package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// job is what one instance is to do. It crosses process borders.
type job struct {
	Plan       plan
	Number, Of int // this instance, of so many
	Clients    int // of a closed loop; 0 for an open one
	Rate       float64
	Constant   bool
	Most       int           // attempts under way of an open loop
	Timeout    time.Duration // of an attempt
	Window     window        // set when every instance is ready
}

// window is when attempts start: those that are to start from the end of the warm-up on count.
type window struct{ Start, Warm, End time.Time }

func (w window) counts(due time.Time) bool { return !due.Before(w.Warm) && due.Before(w.End) }

// until is the window as it was cut short, if ctx has ended by a cut. What is answered in the grace after it is no part of it: its time
// is not counted either.
func (w window) until(ctx context.Context) window {
	if ctx.Err() == nil {
		return w
	}
	var c cut
	if errors.As(context.Cause(ctx), &c) && c.At.Before(w.End) {
		w.End = c.At
	}
	return w
}

// cut is why a run ends early, and when: of one moment for all instances, however late one hears of it. It crosses process borders.
type cut struct{ At time.Time }

func (cut) Error() string { return "the run was stopped" }

// driver makes the attempts of one instance.
type driver struct {
	job
	inst    *instance.Instance
	acquire func(intent string) scenarios.Acquirer
	ahead   *preparer // nil where nothing is to be prepared
	meter   *meter
	limit   *patience // of an attempt

	next     atomic.Uint64 // sequence number of the next attempt
	inFlight atomic.Int64
	most     atomic.Int64 // in flight
}

// grace is how long attempts may go on when the run is stopped early.
const grace = 5 * time.Second

// errStopped ends attempts that outlast the grace.
var errStopped = errors.New("the run was stopped")

// outlast returns a context for attempts, which may go on for a while when ctx ends: Ctrl-C stops new ones, and those under way may
// end, so that what they leave is no fault of the strategy's.
func outlast(ctx context.Context) (work context.Context, end func()) {
	work, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	var mu sync.Mutex
	var limit *time.Timer
	stop := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		limit = time.AfterFunc(grace, func() { kill(errStopped) })
	})
	return work, func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		if limit != nil {
			limit.Stop()
		}
		kill(nil)
	}
}

// drive makes attempts until the window closes or ctx ends, and returns when all of them are answered or given up.
func (d *driver) drive(ctx context.Context) {
	work, end := outlast(ctx)
	var watch, all sync.WaitGroup
	watch.Go(func() { d.limit.watch(work) })
	defer watch.Wait()
	defer end()
	defer all.Wait()
	if d.Clients > 0 {
		sleep(ctx, time.Until(d.Window.Start)) // an attempt before it would count for the rate and not for the percentiles
		for range d.Clients {
			all.Go(func() { d.client(ctx, work) })
		}
		return
	}
	d.arrive(ctx, work, &all)
}

// client makes one attempt after another. Every number that it takes becomes an attempt, or is said to be none.
func (d *driver) client(ctx, work context.Context) {
	for ctx.Err() == nil && time.Now().Before(d.Window.End) {
		seq := d.next.Add(1) - 1
		ready, due := d.ahead.wait(ctx, seq), time.Now()
		if !ready || !due.Before(d.Window.End) {
			d.meter.of(seq).drop(false, seq)
			return
		}
		d.under(1)
		d.attempt(ctx, work, seq, due)
		d.under(-1)
	}
}

// arrive starts attempts when they are due, whether or not earlier ones are answered. Those that find too many under way are dropped.
func (d *driver) arrive(ctx, work context.Context, all *sync.WaitGroup) {
	chance := rand.New(rand.NewPCG(d.Plan.Seed, uint64(d.Number)))
	timer := time.NewTimer(0)
	defer timer.Stop()
	for due := d.Window.Start; ; {
		gap := 1.0
		if !d.Constant {
			gap = chance.ExpFloat64()
		}
		due = due.Add(time.Duration(gap / d.Rate * float64(time.Second)))
		if !due.Before(d.Window.End) {
			sleep(ctx, time.Until(d.Window.End)) // the time without arrivals belongs to the run
			return
		}
		if wait := time.Until(due); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
			}
		}
		if ctx.Err() != nil {
			return
		}
		seq := d.next.Add(1) - 1
		if d.inFlight.Load() >= int64(d.Most) {
			d.meter.of(seq).drop(d.Window.counts(due), seq)
			continue
		}
		d.under(1) // here and not when it runs: a thousand that are due at once must not all see room for one
		all.Go(func() {
			defer d.under(-1)
			if !d.ahead.wait(ctx, seq) {
				d.meter.of(seq).drop(false, seq)
				return
			}
			d.attempt(ctx, work, seq, due)
		})
	}
}

func (d *driver) under(n int64) {
	now := d.inFlight.Add(n)
	for most := d.most.Load(); now > most && !d.most.CompareAndSwap(most, now); most = d.most.Load() {
	}
}

func (d *driver) attempt(ctx, work context.Context, seq uint64, due time.Time) {
	req := d.Plan.request(d.errand(seq))
	own, w := d.limit.begin(seq, time.Now())
	defer w.over()
	rec := d.inst.Handle(own, d.acquire(req.Key), req)
	stopped := rec.Err != "" && context.Cause(work) != nil
	d.meter.of(seq).record(seq, due, d.Window.until(ctx), &rec, stopped)
}

func (d *driver) errand(seq uint64) errand {
	return d.Plan.errand(seq*uint64(d.Of) + uint64(d.Number))
}
