package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// finish ends a world, wherever it stands: the attempts that still live die, and every connection is fit for the next.
// It works under a context that has ended. No backend stays stopped and no session waits afterwards.
func (w *world) finish(ctx context.Context) error {
	if w.ended {
		return nil
	}
	w.ended = true
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	defer w.cancel()
	for _, s := range w.sessions {
		if s.attempt != nil && s.state != answered && s.state != finished {
			s.attempt.dropped.Store(true)
		}
	}
	close(w.gone)
	var errs []error
	for _, s := range w.sessions {
		errs = append(errs, w.cont(s))
	}
	if err := w.release(ctx); err != nil { // something of the strategy's still uses the connections
		return errors.Join(append(errs, fmt.Errorf("explore: end a schedule: %w", err))...)
	}
	for _, s := range w.sessions {
		errs = append(errs, s.tidy(ctx))
	}
	if len(w.Enabled()) > 0 || w.rows == nil { // ended half-way: a COMMIT under way may have added to what was seen
		rows, err := w.e.rows(ctx)
		w.rows = rows
		errs = append(errs, err)
	}
	w.e.pass(w.rows)
	w.sessions, w.attempts, w.mutexes, w.open = nil, nil, nil, nil // a strategy's Env holds the world, and is not to hold its attempts: see outlived
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("explore: clear up after a schedule: %w", err)
	}
	return nil
}

// grace is how long attempts have to end by themselves before their context is cancelled, which costs their connections.
const grace = 200 * time.Millisecond

// release ends what the attempts have under way, and returns when all have ended. With the world gone no COMMIT will let
// waiting statements go on: they are cancelled, and again, because a cancellation that comes before its statement is lost.
func (w *world) release(ctx context.Context) error {
	idle := make(chan struct{})
	go func() {
		w.running.Wait()
		close(idle)
	}()
	hard := time.AfterFunc(grace, w.cancel)
	defer hard.Stop()
	for idle != nil || slices.ContainsFunc(w.attempts, (*attempt).atWork) {
		select {
		case <-idle:
			idle = nil
		case <-ctx.Done():
			return fmt.Errorf("%w: the strategy does not end when its context does: %w", errUngated, ctx.Err())
		case <-w.reports:
		case <-time.After(soon):
			for _, s := range w.sessions {
				if s.state != running && s.state != waiting && !(s.state == parked && s.at.settled) && !w.straggler(s) {
					continue
				}
				if _, err := w.e.control.Exec(ctx, `SELECT pg_cancel_backend($1)`, int32(s.pid)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// atWork says whether a call of the attempt is under way, if its handler has returned or not.
func (a *attempt) atWork() bool { return a.busy.Load() && !a.dead.Load() }

// straggler says whether an attempt of the session is at work that should have ended.
func (w *world) straggler(s *session) bool {
	return slices.ContainsFunc(w.attempts, func(a *attempt) bool { return a.s == s && a.over.Load() && a.atWork() })
}

// stuck says whether sessions wait that nobody will let go.
func (w *world) stuck() bool { return len(w.Enabled()) == 0 && w.anyone(waiting) }
