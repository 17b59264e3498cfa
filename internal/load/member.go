package load

import (
	"context"
	"time"

	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// tick is how often an instance says what it has measured. A second is a whole number of them. Each empties a megabyte or two of
// histograms, so that more of them are taken from what is measured.
const tick = 500 * time.Millisecond

// share is what an instance measured since it last said so.
type share struct {
	tally *tally
	standing
}

// standing is the rest of a share.
type standing struct {
	Until    time.Time // what was answered up to then
	Facts    []fact
	InFlight int
	Most     int // in flight, since the start
	Queue    int // attempts that wait for a connection
	Client   cost
}

// cost is what an instance itself took, since its start.
type cost struct {
	CPU   time.Duration // absent (negative) where the system does not say
	Procs int
	Heap  uint64  // live bytes at the last collection of garbage
	Each  float64 // bytes for each attempt under way, when the most were; 0 where they never were many
}

// member is one instance of the service: in this process, or a process of its own.
type member interface {
	// warmUp connects the pool and prepares every statement on it.
	warmUp(ctx context.Context) error
	// prepare gets ready for a job: what intents want to be there is there for the first of them.
	prepare(ctx context.Context, j job) error
	// run makes the job's attempts within a window and hands in each share, from one goroutine. Ctrl-C ends it early, and is no error.
	run(ctx context.Context, w window, hand func(share)) error
	close() error
}

// local is an instance in this process.
type local struct {
	inst     *instance.Instance
	acquire  func(intent string) scenarios.Acquirer
	prepares func(ctx context.Context, d *driver) (*preparer, error)
	hangUp   func() // ends the conversation with an acquirer elsewhere; nil where it is in this process

	driver *driver // once it is prepared
}

func (l *local) warmUp(ctx context.Context) error { return l.inst.WarmUp(ctx) }

func (l *local) close() error {
	if l.driver != nil { // it may never have run
		_ = l.driver.ahead.stop(context.Background()) // said by run, where it did
	}
	l.inst.Close()
	if l.hangUp != nil {
		l.hangUp()
	}
	return nil
}

func (l *local) prepare(ctx context.Context, j job) (err error) {
	l.driver = &driver{job: j, inst: l.inst, acquire: l.acquire, meter: newMeter(), limit: newPatience(j.Timeout)}
	l.driver.ahead, err = l.prepares(ctx, l.driver)
	return err
}

func (l *local) run(ctx context.Context, within window, hand func(share)) error {
	d := l.driver
	d.Window = within
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		d.drive(ctx)
	}()
	w := newWatch()
	sum := newTally()
	say := func(until time.Time) {
		sum.reset()
		facts := d.meter.collect(sum)
		hand(share{sum, standing{
			Until: until, Facts: facts, InFlight: int(d.inFlight.Load()), Most: int(d.most.Load()),
			Queue: l.inst.Waiting(), Client: w.look(int(d.inFlight.Load())),
		}})
	}
	// The looks fall on the ends of ticks since the warm-up, so that a second is made of whole ones; without one, the first falls on the start.
	first := (within.Warm.Sub(within.Start)-1)%tick + 1
	for next := within.Start.Add(first); ; next = next.Add(tick) {
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
		case <-ended:
			timer.Stop()
			if now := time.Now(); next.After(now) { // else that look is only late, and its second would miss what it brings
				say(now)
				return d.ahead.stop(ctx)
			}
		}
		say(next)
	}
}
