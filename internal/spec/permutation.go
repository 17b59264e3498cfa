package spec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// running is a step that was sent.
type running struct {
	Turn
	place
	targets []int // for each marker: the notices that its step's session must have sent
}

// permutation is one order while it is run. It follows isolationtester's own procedure (run_permutation, try_complete_step and
// try_complete_steps in isolationtester.c), because what is printed when depends on it.
type permutation struct {
	*lab
	out     bytes.Buffer
	waiting []*session // that were reported as waiting, in that order
	events  int        // steps done and notices heard: whether anything has moved
	outcome Outcome
	why     string
}

// impossibleError says why an order cannot happen.
type impossibleError struct{ why string }

func (e *impossibleError) Error() string { return "this order cannot happen: " + e.why }

func (l *lab) permutation() *permutation {
	p := &permutation{lab: l}
	for _, s := range l.sessions {
		s.hear = func(m *pgproto3.NoticeResponse) {
			notice(&p.out, s.name, m)
			p.events++
		}
	}
	return p
}

// begin runs the setups.
func (p *permutation) begin(ctx context.Context) error {
	for _, sql := range p.spec.Setup {
		if err := p.must(ctx, p.control, "setup", sql); err != nil {
			return err
		}
	}
	for i, s := range p.sessions {
		if sql := p.spec.Sessions[i].Setup; sql != "" {
			if err := p.must(ctx, s, "setup of session "+quote(s.name), sql); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *permutation) must(ctx context.Context, s *session, what, sql string) error {
	r, err := p.exec(ctx, s, sql)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", what, err)
	case r.err != "":
		return fmt.Errorf("%s failed: %s", what, r.err)
	case r.empty:
		return fmt.Errorf("%s holds no statement: leave it out", what)
	}
	r.print(&p.out)
	return nil
}

// take begins a step, reports it as done or waiting, and then those that have waited and that it may have freed.
func (p *permutation) take(ctx context.Context, t Turn) error {
	at := p.places[t.Step]
	s := p.sessions[at.session]
	if err := s.send(at.step.SQL); err != nil {
		return err
	}
	s.active = &running{Turn: t, place: at}
	for _, m := range t.Markers {
		target := 0
		if m.Kind == UntilNotices {
			target = m.Notices + p.sessions[p.places[m.Step].session].notices
		}
		s.active.targets = append(s.active.targets, target)
	}
	waits, err := p.try(ctx, s, true, true)
	if err == nil {
		err = p.tryAll(ctx, true)
	}
	if waits {
		p.waiting = append(p.waiting, s)
	}
	return err
}

// ready waits until a session's last step is done, for the next to begin.
func (p *permutation) ready(ctx context.Context, s *session) error {
	began := time.Now()
	for s.active != nil {
		events := p.events
		waits, err := p.try(ctx, s, false, false)
		if err != nil {
			return err
		}
		if !waits {
			p.waiting = slices.DeleteFunc(p.waiting, func(other *session) bool { return other == s })
		}
		if err := p.tryAll(ctx, true); err != nil {
			return err
		}
		if s.active == nil || p.events != events {
			continue
		}
		// Only markers hold the step back now. Nothing will come of it when all others are held back or hopeless as well.
		if stuck, err := p.allStuck(ctx); err != nil {
			return err
		} else if stuck || time.Since(began) > 2*p.options.Limit {
			return fmt.Errorf("step %s is held back by its markers for good", s.active.Turn)
		}
	}
	return nil
}

// finish waits for the steps that are still under way.
func (p *permutation) finish(ctx context.Context) error {
	if err := p.tryAll(ctx, false); err != nil {
		return err
	}
	if len(p.waiting) > 0 {
		return errors.New("failed to complete permutation due to mutually-blocking steps: " + p.underWay())
	}
	return nil
}

func (p *permutation) underWay() string {
	var all []string
	for _, s := range p.waiting {
		all = append(all, s.active.Turn.String())
	}
	return strings.Join(all, " ")
}

// tryAll looks at the steps that wait, in order. One that markers held back may be freed by one behind it, so it starts over for
// as long as anything moves.
func (p *permutation) tryAll(ctx context.Context, mayBlock bool) error {
	for {
		events, held := p.events, false
		for i := 0; i < len(p.waiting); {
			s := p.waiting[i]
			waits, err := p.try(ctx, s, false, mayBlock)
			if err != nil {
				return err
			}
			if waits {
				held = held || len(s.active.Markers) > 0
				i++
			} else {
				p.waiting = slices.Delete(p.waiting, i, i+1)
			}
		}
		if !held || p.events == events {
			return nil
		}
	}
}

// try waits until a session's step is done, and reports it; or, where it may block, until it does. It says whether the step is
// still under way.
func (p *permutation) try(ctx context.Context, s *session, first, mayBlock bool) (waits bool, err error) {
	if first && slices.ContainsFunc(s.active.Markers, func(m Marker) bool { return m.Kind == Once }) {
		p.sayWaiting(s)
		return true, nil
	}
	blocked, err := p.await(ctx, s, mayBlock)
	if err != nil {
		return true, err
	}
	if blocked || p.held(s.active) {
		if first {
			p.sayWaiting(s)
		}
		return true, nil
	}
	return false, p.report(ctx, s, first)
}

// held says whether markers keep a step from being reported as done.
func (p *permutation) held(r *running) bool {
	for i, m := range r.Markers {
		switch m.Kind {
		case UntilDone:
			if other := p.sessions[p.places[m.Step].session].active; other != nil && other.Step == m.Step {
				return true
			}
		case UntilNotices:
			if p.sessions[p.places[m.Step].session].notices < r.targets[i] {
				return true
			}
		}
	}
	return false
}
