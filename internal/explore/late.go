package explore

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"
	"weak"
)

// What a strategy does after its answer nobody waits for: it comes before, between or behind whatever the other sessions do, and the
// explorer has judged the schedule by then. So it is not done, and the run says nothing, neither good nor bad: an orphan may be one
// that was about to be mended.
var (
	errLate = fmt.Errorf("%w: the strategy goes on after its answer: it calls its database or its acquirer when its handler has returned", errUngated)
	errKept = fmt.Errorf("%w: the strategy goes on after its answer: something holds its database or its acquirer still", errUngated)
)

// lives says whether the attempt may still ask for anything.
func (a *attempt) lives() error {
	switch {
	case a.dead.Load():
		return errDead
	case a.over.Load():
		return a.late()
	}
	return nil
}

// late notes that the attempt does something after its end. Where the world ended first, with the attempt under way, nobody has judged it.
func (a *attempt) late() error {
	if a.dropped.Load() {
		return errDead
	}
	err := errLate
	a.s.w.ungated.CompareAndSwap(nil, &err)
	a.s.w.e.late.Store(true)
	return err
}

// outlived waits until no attempt that has answered can make a step any more. Whoever can make one holds its database, its acquirer
// or a transaction, in a goroutine, in a timer or wherever; and what nobody holds the garbage collector takes. So it is proved, not
// taken for proved because time has passed.
func (e *engine) outlived(ctx context.Context) error {
	deadline := time.Now().Add(e.o.patience)
	for pause := soon; !e.late.Load(); pause = min(2*pause, 100*soon) {
		runtime.GC()
		e.answered = slices.DeleteFunc(e.answered, func(p weak.Pointer[attempt]) bool { return p.Value() == nil })
		switch {
		case e.late.Load(): // before it let go
		case len(e.answered) == 0:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("%w after %s", errKept, e.o.patience)
		}
		select {
		case <-time.After(pause): // the runtime says nowhere that somebody has let go
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return errLate
}
