package spec

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// await waits for a step's first result, or until the server says that another session is in its way.
func (p *permutation) await(ctx context.Context, s *session, mayBlock bool) (blocked bool, err error) {
	patience := patience{began: time.Now()}
	for {
		busy, err := s.busy()
		if err != nil || !busy {
			return false, err
		}
		if some, err := s.fill(ctx, poll); err != nil {
			return false, err
		} else if some {
			continue
		}
		w, err := p.watcher.look(ctx, p.sessions)
		if err != nil {
			return false, err
		}
		if len(s.inbox) > 0 {
			continue
		}
		if mayBlock && w.blocked(s.number, time.Since(patience.began)) {
			// What it said before it began to wait has been sent by then, and is printed first.
			if some, err := s.fill(ctx, lastLook); err != nil || !some {
				return true, err
			}
			continue
		}
		stuck := patience.confirm(!mayBlock && w.stuck(s.number))
		if err := p.lose(ctx, s, w, &patience, stuck); err != nil {
			return false, err
		}
	}
}

// patience is what one wait has seen so far.
type patience struct {
	began     time.Time
	stuck     int // looks in a row that found the step stuck
	cancelled bool
}

// confirm says whether a step was stuck at two looks in a row. The server is asked about one session after another: only what a
// second look confirms was true of all of them at one moment.
func (p *patience) confirm(stuck bool) bool {
	if p.stuck++; !stuck {
		p.stuck = 0
	}
	return p.stuck >= 2
}

// lose ends a wait that nobody can end, or that has lasted too long.
func (p *permutation) lose(ctx context.Context, s *session, w waits, patience *patience, stuck bool) error {
	ran := time.Since(patience.began)
	switch {
	case patience.cancelled && ran > 2*p.options.Limit:
		return fmt.Errorf("step %s timed out after %d seconds", quote(s.active.Step), int(ran.Seconds()))
	case patience.cancelled:
		return nil
	case stuck:
		patience.cancelled = true
		return p.give(ctx, s, w)
	case ran > p.options.Limit:
		patience.cancelled = true
		p.outcome, p.why = CutOff, fmt.Sprintf("step %s took longer than %v", quote(s.active.Step), p.options.Limit)
		return p.sayCancel(ctx, s, ran)
	}
	return nil
}

// give gives up on a step that nobody can free.
func (p *permutation) give(ctx context.Context, s *session, w waits) error {
	why := p.describe(s, w)
	if p.options.Impossible == Skip {
		return &impossibleError{why}
	}
	p.outcome, p.why = Cancelled, why
	return p.sayCancel(ctx, s, p.options.Limit)
}

func (p *permutation) describe(s *session, w waits) string {
	var names []string
	for _, j := range w[s.number].on {
		if name := quote(p.sessions[j].name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return fmt.Sprintf("step %s of session %s waits for session %s, which can only be freed by a later step",
		quote(s.active.Step), quote(s.name), strings.Join(names, ", "))
}

// allStuck says that no step that is under way will ever be reported.
func (p *permutation) allStuck(ctx context.Context) (bool, error) {
	w, err := p.watcher.look(ctx, p.sessions)
	if err != nil {
		return false, err
	}
	for i, s := range p.sessions {
		if w[i].running && !w.hopeless(i) || len(s.inbox) > 0 && s.complete == nil {
			return false, nil
		}
	}
	return true, nil
}
