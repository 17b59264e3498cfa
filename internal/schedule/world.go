package schedule

import (
	"context"
	"errors"
	"fmt"
)

// World is one execution of a system, from its start. A search that wants another begins with a new World.
type World interface {
	// Enabled are the actions possible now, by session and then by kind; none at the end. Sessions that wait have none.
	Enabled() []Action
	// Do carries out one of them and returns when every session stands still again: about to act, ended, or waiting.
	Do(ctx context.Context, a Action) (Event, error)
}

// Point is one moment of a Run: what could be chosen, and what became of the choice.
type Point struct {
	Enabled []Action
	Event   Event
}

// Run is one execution.
type Run struct {
	Points []Point
	// Redundant says that the run was given up half-way, because every way on is covered by another run.
	Redundant bool
}

// ErrDiverged says that an execution did not repeat what the same choices had led to before. Test for it with errors.Is.
var ErrDiverged = errors.New("the execution diverged from an earlier one with the same choices")

// Search is a plan of runs.
type Search interface {
	// More says whether a run is left.
	More() bool
	// Run carries out the next one in a new world. After an error the plan stands where it stood, and the run can be tried again.
	Run(ctx context.Context, w World) (Run, error)
}

// advance does a and records it.
func (r *Run) advance(ctx context.Context, w World, enabled []Action, a Action) error {
	e, err := w.Do(ctx, a)
	if err != nil {
		return err
	}
	r.Points = append(r.Points, Point{enabled, e})
	return nil
}

// repeat does what was done at p, and compares.
func (r *Run) repeat(ctx context.Context, w World, p Point) error {
	enabled := w.Enabled()
	if !equal(enabled, p.Enabled) {
		return diverged(len(r.Points)+1, p.Enabled, enabled)
	}
	if err := r.advance(ctx, w, enabled, p.Event.Action); err != nil {
		return err
	}
	if got := r.Points[len(r.Points)-1].Event; !got.same(p.Event) {
		return diverged(len(r.Points), p.Event, got)
	}
	return nil
}

// onwards runs to the end: the session that went last goes on while it can, then the first that can.
func (r *Run) onwards(ctx context.Context, w World) error {
	for {
		enabled := w.Enabled()
		if len(enabled) == 0 {
			return nil
		}
		if err := r.advance(ctx, w, enabled, r.cheapest(enabled)); err != nil {
			return err
		}
	}
}

// cheapest is the choice that costs least: no fault, and no switch where none is needed.
func (r *Run) cheapest(enabled []Action) Action {
	last := r.last()
	best := enabled[0]
	for _, a := range enabled {
		if a.Session == last && !a.Kind.Fault() {
			return a
		}
		if best.Kind.Fault() && !a.Kind.Fault() {
			best = a
		}
	}
	return best
}

// last is the session that went last, -1 at the start.
func (r *Run) last() int {
	for i := len(r.Points) - 1; i >= 0; i-- {
		if a := r.Points[i].Event.Action; a.Kind != Answer {
			return a.Session
		}
	}
	return -1
}

func diverged(step int, was, now any) error {
	return fmt.Errorf("%w: step %d: was %+v, now %+v", ErrDiverged, step, was, now)
}
