package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// soon is when to look again where no notice will come: PostgreSQL sends none to a waiter that stays queued behind one just
	// let go, and none at all without the right to set log_lock_waits.
	soon = time.Millisecond
	// late is when to look where a notice should have come: it bounds what a lost one costs, and decides nothing.
	late = 8 * time.Millisecond
	// eager is how often to look without a pause for a COMMIT to be held, which takes it a few looks.
	eager = 50
	// patience is when to give up on a session that neither comes back nor is proved to wait. Giving up is never a verdict.
	patience = 10 * time.Second
)

// errElsewhere says that a session waits where the explorer cannot see it.
var errElsewhere = errors.New("waits outside PostgreSQL")

// settle waits until every session stands still: before its next step, ended, or proved to wait. It proves, and never takes
// time for proof.
func (w *world) settle(ctx context.Context) error {
	deadline := time.Now().Add(w.e.o.patience)
	stale := true // those that wait may have been let go
	pause := w.pause(false)
	for looks := 0; ; {
		switch {
		case w.anyone(running):
			heard, err := w.listen(ctx, pause)
			if err != nil {
				return err
			}
			stale = true
			if heard {
				continue
			}
			if pause, err = w.inspect(ctx); err != nil {
				return err
			}
			if looks++; looks < eager && w.committing() {
				pause = 0
			}
			if time.Now().After(deadline) {
				return w.giveUp()
			}
		case stale && w.anyone(waiting):
			stale = false
			if err := w.recheck(ctx); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// listen takes a report, if one comes before the next look is due, or before PostgreSQL says that somebody waits.
func (w *world) listen(ctx context.Context, pause time.Duration) (heard bool, err error) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case r := <-w.reports:
		return true, w.take(ctx, r)
	case <-w.e.hints:
	case <-timer.C:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	return false, nil
}

// inspect asks PostgreSQL about the sessions that have not come back, and says when to ask again.
func (w *world) inspect(ctx context.Context) (time.Duration, error) {
	if err := w.decided(ctx); err != nil {
		return 0, err
	}
	if !w.anyone(running) {
		return 0, nil
	}
	unclear, err := w.prove(ctx)
	if err != nil {
		return 0, err
	}
	return w.pause(unclear), nil
}

// committing says whether a COMMIT is under way that will be held.
func (w *world) committing() bool {
	return slices.ContainsFunc(w.sessions, func(s *session) bool { return s.state == running && s.attempt.committing.Load() })
}

// pause is how long to wait for news before looking. No notice comes of a COMMIT that is held.
func (w *world) pause(unclear bool) time.Duration {
	if unclear || !w.e.notices || w.e.split.on.Load() {
		return soon
	}
	return late
}

// take notes what an attempt reports.
func (w *world) take(ctx context.Context, r report) error {
	s := r.a.s
	if err := w.ungated.Load(); err != nil {
		return *err
	}
	if r.a != s.attempt {
		return errors.New("explore: an attempt goes on after its end: the strategy left something running")
	}
	s.blocked = blockage{}
	if r.made != nil {
		w.cutShort(s, r.made)
		w.turn().made(s, r.made)
	}
	if !r.ended {
		s.state, s.at = parked, r.next
		return nil
	}
	if r.panicked != nil {
		return fmt.Errorf("explore: the strategy panicked: %v", r.panicked)
	}
	s.last = r.ending
	foot, err := s.clear(ctx, false)
	if err != nil {
		return fmt.Errorf("explore: clear up after an attempt: %w", err)
	}
	w.turn().touch(foot)
	if s.id == w.turn().Session {
		w.turn().gave = w.turn().gave || foot.GivesBack()
	}
	if w.deaths > 0 && s.attempt.steps.Load() > 0 {
		s.state = answered
		return nil
	}
	s.end(nil)
	return nil
}

// giveUp names the session that does not come back.
func (w *world) giveUp() error {
	for _, s := range w.sessions {
		if s.state == running {
			return fmt.Errorf("session %c %w: after step %q it did not come back within %s, and no session of the run blocks it "+
				"(a lock within the process is seen where it is Env.Lock)", 'A'+rune(s.id), errElsewhere, s.at.name, w.e.o.patience)
		}
	}
	return nil
}

// look reads, on a replay, what the turn has left for everybody to see.
func (w *world) look(ctx context.Context, t *Turn) error {
	wishes := map[int64]bool{}
	for _, e := range w.ledger.Ledger() {
		if e.Receipt.Approved {
			t.Captures++
			wishes[e.Charge.Tenant] = true
		}
	}
	t.Wishes = len(wishes)
	if !w.e.watch {
		return nil
	}
	var err error
	t.Table, err = w.e.rows(ctx)
	return err
}
