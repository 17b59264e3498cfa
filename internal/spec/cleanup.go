package spec

import (
	"context"
	"fmt"
	"time"
)

// cleanupLimit bounds what is done after the caller's context may have ended.
const cleanupLimit = 15 * time.Second

// abandon leaves an order that cannot happen: running statements are cancelled, transactions rolled back, and what the spec tears
// down is torn down, unseen. New connections then keep the half-run order's settings and session locks from the next one.
func (l *lab) abandon(ctx context.Context, p *permutation) error {
	for _, s := range l.sessions {
		s.hear = nil
		if err := s.cancel(ctx); err != nil {
			return err
		}
	}
	for i, s := range l.sessions {
		for _, sql := range []string{"ROLLBACK; SELECT pg_advisory_unlock_all()", l.spec.Sessions[i].Teardown} {
			if err := l.quietly(ctx, s, sql); err != nil {
				return err
			}
		}
	}
	if err := l.quietly(ctx, l.control, l.spec.Teardown); err != nil {
		return err
	}
	l.closeSessions(ctx)
	return l.connectSessions(ctx)
}

// quietly runs what may fail: a teardown expects what an abandoned order may not have come to.
func (l *lab) quietly(ctx context.Context, s *session, sql string) error {
	if sql == "" || s.closed {
		return nil
	}
	_, err := l.exec(ctx, s, sql)
	return err
}

// cancel ends the statement that a session runs, and reads what it still had to say.
func (s *session) cancel(ctx context.Context) error {
	if s.waiting {
		if err := s.conn.CancelRequest(ctx); err != nil {
			return fmt.Errorf("session %s: cancel: %w", quote(s.name), err)
		}
	}
	for s.waiting {
		if _, err := s.fill(ctx, poll); err != nil {
			return err
		}
	}
	s.inbox, s.active = nil, nil
	return nil
}

func (l *lab) close(ctx context.Context) {
	l.closeSessions(ctx)
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer stop()
	if l.control != nil {
		l.control.close(ctx)
	}
	if l.watcher != nil {
		_ = l.watcher.conn.Close(ctx)
	}
}

func (l *lab) closeSessions(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer stop()
	for _, s := range l.sessions {
		s.close(ctx)
	}
}

// close cancels what still runs: a backend that waits for a lock does not notice that its client has gone.
func (s *session) close(ctx context.Context) {
	if s.waiting {
		_ = s.conn.CancelRequest(ctx)
	}
	_ = s.conn.Conn().SetReadDeadline(time.Time{})
	_ = s.conn.Close(ctx)
}
