package spec

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errMidStep is about what hangs isolationtester for good: it has printed a step as done on its first result, and the rest of the
// step is blocked.
var errMidStep = errors.New("it was reported as done on its first result, and a later statement of the same step waits for a session " +
	"that only a later step can free: give that statement a step of its own")

// errLeftOpen is about a setup or teardown behind a session that has no further step: isolationtester waits there without any limit.
var errLeftOpen = errors.New("it waits for a lock that an idle session holds: end that session's transaction, in a step or in its teardown")

func (p *permutation) sayWaiting(s *session) {
	fmt.Fprintf(&p.out, "step %s: %s <waiting ...>\n", s.active.Step, s.active.step.SQL)
}

func (p *permutation) sayCancel(ctx context.Context, s *session, ran time.Duration) error {
	fmt.Fprintf(&p.out, "isolationtester: canceling step %s after %d seconds\n", s.active.Step, int(ran.Seconds()))
	if err := s.conn.CancelRequest(ctx); err != nil {
		return fmt.Errorf("session %s: cancel: %w", quote(s.name), err)
	}
	return nil
}

// report prints a step as done, with all its results. Results that are still to come are waited for.
func (p *permutation) report(ctx context.Context, s *session, first bool) error {
	if first {
		fmt.Fprintf(&p.out, "step %s: %s\n", s.active.Step, s.active.step.SQL)
	} else {
		fmt.Fprintf(&p.out, "step %s: <... completed>\n", s.active.Step)
	}
	for {
		r, err := s.result(ctx, p.unlessStuck(s, errMidStep))
		if err != nil {
			return fmt.Errorf("step %s: %w", quote(s.active.Step), err)
		}
		if r == nil {
			break
		}
		if r.err != "" {
			fmt.Fprintln(&p.out, r.err)
		}
		r.print(&p.out)
	}
	for _, n := range s.heard {
		fmt.Fprintf(&p.out, "%s: NOTIFY \"%s\" with payload \"%s\" from %s\n", s.name, n.Channel, n.Payload, p.sender(n.PID))
	}
	s.heard, s.active = nil, nil
	p.events++
	return nil
}

// sender names the session that a notification came from.
func (p *permutation) sender(pid uint32) string {
	for _, s := range p.sessions {
		if s.conn.PID() == pid {
			return s.name
		}
	}
	return fmt.Sprintf("PID %d", pid)
}

// exec runs SQL outside of any step and returns its last result, as libpq's PQexec does.
func (l *lab) exec(ctx context.Context, s *session, sql string) (*result, error) {
	if err := s.send(sql); err != nil {
		return nil, err
	}
	last := &result{empty: true}
	for {
		r, err := s.result(ctx, l.unlessStuck(s, errLeftOpen))
		if err != nil {
			return nil, err
		}
		if r == nil {
			return last, nil
		}
		last = r
	}
}

// unlessStuck gives a check for use while a session's answer is waited for: it fails when that answer provably cannot come.
func (l *lab) unlessStuck(s *session, problem error) func(context.Context) error {
	var patience patience
	return func(ctx context.Context) error {
		all := append(l.sessions[:len(l.sessions):len(l.sessions)], l.control)
		w, err := l.watcher.look(ctx, all)
		if err != nil {
			return err
		}
		if patience.confirm(w.stuck(s.number)) {
			return problem
		}
		return nil
	}
}
