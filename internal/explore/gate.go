package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"weak"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

var (
	// errDead is what the calls of a dead attempt return to the deferred functions that still run: nobody hears it.
	errDead = errors.New("explore: this attempt is dead")
	// errUngated says that the strategy does what the explorer cannot put into an order.
	errUngated   = errors.New("cannot be explored")
	errNoAttempt = errors.New("explore: Env.Lock or Env.Gather was called with a context that does not come from the handler's")
)

// op is a step that an attempt is about to make.
type op struct {
	name    string // as in schedules
	verb    string // for people: "INSERT cobranca"
	kind    opKind
	half    bool     // the second half of a step that PostgreSQL makes in one: whoever dies here has died after it
	mutex   string   // of lock and unlock
	batch   *batch   // of join, depart and arrive; to join, the one that it opens where none is open
	limits  []string // in time, under which it is made
	tries   string   // how it tries for a lock and looks elsewhere
	settled bool     // splitcommit: the commit is decided and waits to be let become visible
}

type opKind uint8

const (
	opSQL opKind = iota
	opCapture
	opFind
	opLock
	opUnlock
	opJoin
	opDepart
	opArrive
)

// done is what an op came to.
type done struct {
	op
	result string
	foot   schedule.Footprint
}

// report is what an attempt's goroutine tells the scheduler when it stands still.
type report struct {
	a     *attempt
	made  *done // the step it has made since its last report, if any
	next  op    // where it stands now
	ended bool
	ending
}

// ending is how an attempt ended.
type ending struct {
	resp     scenarios.Response
	err      error
	panicked any
}

// attempt is one run of a handler. Its goroutine runs only while the scheduler waits for its report.
type attempt struct {
	s      *session
	number int // from 1
	grant  chan schedule.Kind
	made   atomic.Pointer[done]               // since the last report
	steps  atomic.Int32                       // made so far; atomic, since an interrupt ends a COMMIT that is held while its session is looked at
	doing  atomic.Pointer[schedule.Footprint] // of the statement under way, should it have to wait
	busy   atomic.Bool
	dead   atomic.Bool
	over   atomic.Bool // its handler has returned
	// dropped: its world ended before it did.
	dropped atomic.Bool
	astray  atomic.Bool // the acquirer was told to charge another tenant; between two steps only
	named   []string    // limits in time that its statements have set for a transaction, which count to the attempt's end; a call's own
	batch   *batch      // that it is in, until that has arrived
	// committing: its COMMIT is under way and will be held when decided.
	committing atomic.Bool
}

// enter begins a call to the database or the acquirer, if the attempt may make one and makes no other.
func (a *attempt) enter() error {
	if err := a.lives(); err != nil {
		return err
	}
	if !a.busy.CompareAndSwap(false, true) {
		return a.refuse("calls its database or its acquirer from two goroutines at once")
	}
	if err := a.lives(); err != nil { // asked again: run looks for who is busy when it has said that the attempt is over
		a.leave()
		return err
	}
	return nil
}

// leave ends a call that was no step.
func (a *attempt) leave() { a.busy.Store(false) }

// stand makes op the attempt's next step; see await.
func (a *attempt) stand(o op) (schedule.Kind, error) {
	if err := a.enter(); err != nil {
		return 0, err
	}
	return a.await(o)
}

// await reports op and waits until it is let go. It returns how; it does not return where the attempt is to die.
func (a *attempt) await(o op) (schedule.Kind, error) {
	w := a.s.w
	o.limits = append(o.limits, a.inForce()...)
	select {
	case w.reports <- report{a: a, made: a.take(), next: o}:
	case <-w.gone:
		a.die()
	}
	select {
	case k := <-a.grant:
		if k == schedule.Die {
			a.die()
		}
		return k, nil
	case <-w.gone:
		a.die()
	}
	panic("unreachable")
}

// die ends the attempt's goroutine as a killed process ends: nothing after this line happens, and what deferred functions
// still ask for is not done. A panic would not do: strategies may recover.
func (a *attempt) die() {
	a.dead.Store(true)
	runtime.Goexit()
}

// note keeps what the step came to for the next report.
func (a *attempt) note(o op, result string, foot schedule.Footprint) {
	a.made.Store(&done{o, result, foot})
	a.steps.Add(1)
	a.busy.Store(false)
}

// begin says what the statement about to run touches, for the case that it does not come back.
func (a *attempt) begin(foot schedule.Footprint) { a.doing.Store(&foot) }

func (a *attempt) take() *done { return a.made.Swap(nil) }

// refuse notes that the strategy did what the explorer cannot put into an order, and returns that as an error.
func (a *attempt) refuse(what string) error {
	err := fmt.Errorf("%w: the strategy %s", errUngated, what)
	a.s.w.ungated.CompareAndSwap(nil, &err)
	return err
}

// run is the attempt's goroutine.
func (a *attempt) run(ctx context.Context, h scenarios.Handler, req scenarios.Request) {
	var e ending
	defer func() {
		if p := recover(); p != nil {
			e.panicked = p
			a.leave() // it may have come out of a call
		}
		w := a.s.w
		if a.over.Store(true); a.busy.Load() && !a.dead.Load() {
			_ = a.late()
		}
		select {
		case w.reports <- report{a: a, made: a.take(), ended: true, ending: e}:
		case <-w.gone:
		}
		w.running.Done()
	}()
	ctx = context.WithValue(ctx, asking{}, weak.Make(a)) // weak: contexts are kept, by pgx among others, and let nobody make a step
	e.resp, e.err = h(ctx, db{a: a}, acquirer{a: a, inner: a.s.w.acq}, req)
}

// judged is the attempt as the invariants see it.
func (e ending) judged(died bool) scenarios.Attempt {
	if died {
		return scenarios.Attempt{Died: true}
	}
	if e.err != nil || e.panicked != nil {
		return scenarios.Attempt{Answer: scenarios.Failed, HTTP: 500}
	}
	return scenarios.Attempt{Answer: e.resp.Answer, HTTP: e.resp.HTTP, Body: e.resp.Body}
}
