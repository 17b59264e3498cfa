package attempt

import (
	"context"
	"fmt"
	"sync"

	"idemlab/scenarios"
)

// Befalls is what befalls an attempt on its way to the acquirer and back.
type Befalls string

// What may befall it. The first three are deaths; the next two live, and their call takes longer than anybody waits; the last three live,
// and are told nothing that they could go by.
const (
	Nothing      Befalls = ""
	AfterClaim   Befalls = "after-claim"   // it dies where it would have called the acquirer
	AfterCapture Befalls = "after-capture" // it dies when the money has moved
	AfterRecord  Befalls = "after-record"  // it dies with its answer in hand
	SlowRequest  Befalls = "slow-request"  // its request is held on the way there
	SlowAnswer   Befalls = "slow-answer"   // the answer is held on the way back
	ErrorBefore  Befalls = "error-before"  // the acquirer answers 5xx, and nothing has moved
	ErrorAfter   Befalls = "error-after"   // the acquirer answers 5xx, and the money has moved
	LostReply    Befalls = "lost-reply"    // the money has moved, and the answer never comes
)

// Dies says whether the attempt's process ends with it.
func (b Befalls) Dies() bool { return b == AfterClaim || b == AfterCapture || b == AfterRecord }

// Slow says whether its call to the acquirer is held.
func (b Befalls) Slow() bool { return b == SlowRequest || b == SlowAnswer }

// wire is an attempt's way to the acquirer. What befalls it does so at its first capture.
type wire struct {
	scenarios.Acquirer
	befalls Befalls
	process *Process
	met     bool // an attempt asks from one goroutine

	held    chan struct{} // closed when the call is held
	release chan struct{} // closed to let it go
	open    sync.Once
}

func newWire(acq scenarios.Acquirer, b Befalls, p *Process) *wire {
	return &wire{Acquirer: acq, befalls: b, process: p, held: make(chan struct{}), release: make(chan struct{})}
}

// Capture lets happen what is to happen, before the request or after it.
func (w *wire) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	if w.met {
		return w.Acquirer.Capture(ctx, c)
	}
	w.met = true
	switch w.befalls {
	case AfterClaim:
		w.process.die()
	case SlowRequest:
		if err := w.hold(ctx); err != nil {
			return scenarios.Receipt{}, err
		}
	case ErrorBefore:
		return scenarios.Receipt{}, fmt.Errorf("%w: the acquirer answered 503", scenarios.ErrOutcomeUnknown)
	}
	r, err := w.Acquirer.Capture(ctx, c)
	if err != nil {
		return r, err
	}
	switch w.befalls {
	case AfterCapture:
		w.process.die()
	case SlowAnswer:
		err = w.hold(ctx)
	case ErrorAfter:
		err = fmt.Errorf("%w: the acquirer answered 500", scenarios.ErrOutcomeUnknown)
	case LostReply:
		err = fmt.Errorf("%w: no answer came", scenarios.ErrOutcomeUnknown)
	}
	if err != nil {
		return scenarios.Receipt{}, err
	}
	return r, nil
}

func (w *wire) hold(ctx context.Context) error {
	close(w.held)
	select {
	case <-w.release:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %v", scenarios.ErrOutcomeUnknown, ctx.Err())
	}
}

func (w *wire) letGo() { w.open.Do(func() { close(w.release) }) }
