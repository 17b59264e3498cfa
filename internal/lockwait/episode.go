package lockwait

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/scenarios"
)

// openWait is a wait that the last look still saw.
type openWait struct {
	Wait
	began  time.Time // by the server's clock: pg_locks.waitstart, or the first look where there is none
	seenAt time.Time // by the server's clock: the last look that saw it
}

// blocked is one row of a look at the locks.
type blocked struct {
	PID   uint32
	Event string
	Query string     // its beginning, which names its step
	Began *time.Time // NULL for a moment after the wait began, and before PostgreSQL 14
	Now   time.Time
}

func (s *Sampler) pollLocks(ctx context.Context) error {
	waitstart := "l.waitstart"
	if !s.hasAt {
		waitstart = "NULL::timestamptz"
	}
	rows, err := s.conn.Query(ctx, `
		SELECT a.pid, a.wait_event_type || '/' || a.wait_event, left(a.query, 100), `+waitstart+`, clock_timestamp()
		  FROM pg_stat_activity a
		  JOIN pg_locks l ON l.pid = a.pid AND NOT l.granted
		 WHERE a.application_name = $1 AND a.wait_event_type = 'Lock'`, s.app)
	if err != nil {
		return err
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[blocked])
	if err != nil {
		return err
	}
	still := map[uint32]bool{}
	for _, b := range found {
		if !slices.Contains(Counted(), b.Event) {
			continue
		}
		still[b.PID] = true
		if err := s.saw(ctx, b); err != nil {
			return err
		}
	}
	for pid, w := range s.open {
		if !still[pid] {
			s.end(w)
		}
	}
	return nil
}

// saw opens a wait or prolongs it. A backend that waits at another event, or since another moment, has begun another wait.
func (s *Sampler) saw(ctx context.Context, b blocked) error {
	w, ok := s.open[b.PID]
	if ok && (w.Event != b.Event || b.Began != nil && b.Began.Sub(w.seenAt) > 0) {
		s.end(w)
		ok = false
	}
	if !ok {
		w = &openWait{Wait: Wait{PID: b.PID, Event: b.Event, Step: stepOf(b.Query), Seen: s.looked}, began: b.Now}
		if err := s.blockers(ctx, &w.Wait); err != nil {
			return err
		}
		s.open[b.PID] = w
	}
	if b.Began != nil && b.Began.Before(w.began) {
		w.began = *b.Began
	}
	w.seenAt, w.LastSeen = b.Now, time.Now()
	return nil
}

// blockers asks once for each wait: pg_blocking_pids stops the lock manager for a moment, and who is in the way rarely changes.
// Who does not wait in its turn comes first: it is the cause of the whole queue.
func (s *Sampler) blockers(ctx context.Context, w *Wait) error {
	rows, err := s.conn.Query(ctx, `
		SELECT b.pid, coalesce(a.state, ''), coalesce(left(a.query, 100), '')
		  FROM unnest(pg_blocking_pids($1)) AS b (pid)
		  LEFT JOIN pg_stat_activity a ON a.pid = b.pid
		 ORDER BY a.wait_event_type IS NOT DISTINCT FROM 'Lock'`, w.PID)
	if err != nil {
		return err
	}
	var b struct {
		pid          uint32
		state, query string
	}
	_, err = pgx.ForEachRow(rows, []any{&b.pid, &b.state, &b.query}, func() error {
		if len(w.Blockers) == 0 {
			w.BlockerState, w.BlockerStep = b.state, stepOf(b.query)
		}
		w.Blockers = append(w.Blockers, b.pid)
		return nil
	})
	return err
}

// stepOf is a statement's own name for itself, or its first word: "commit".
func stepOf(query string) string {
	if step := scenarios.StepOf(query); step != "" {
		return step
	}
	first, _, _ := strings.Cut(strings.TrimSpace(query), " ")
	return strings.ToLower(first)
}

// end closes a wait that the last look did not see any more: it ended somewhere between that look and the one before.
func (s *Sampler) end(w *openWait) {
	w.Length = w.seenAt.Sub(w.began) + time.Since(w.LastSeen)/2
	s.samples.Waits = append(s.samples.Waits, w.Wait)
	delete(s.open, w.PID)
}

func (s *Sampler) endAll() {
	for _, w := range s.open {
		s.end(w)
	}
}
