package explore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
)

// blockers asks PostgreSQL which sessions of the run block which. Processes that are not ours are left out: what they hold they
// may give back at any moment, so that they prove nothing.
func (w *world) blockers(ctx context.Context) (map[int][]int, error) {
	byPID := map[int32]int{}
	var pids []int32
	for _, s := range w.sessions {
		byPID[int32(s.pid)] = s.id
		if s.state == running || s.state == waiting && s.blocked.outside == "" {
			pids = append(pids, int32(s.pid))
		}
	}
	rows, err := w.e.control.Query(ctx, `SELECT p, pg_blocking_pids(p) FROM unnest($1::int[]) p`, pids)
	if err != nil {
		return nil, fmt.Errorf("explore: ask who blocks whom: %w", err)
	}
	defer rows.Close()
	out := map[int][]int{}
	for rows.Next() {
		var pid int32
		var by []int32
		if err := rows.Scan(&pid, &by); err != nil {
			return nil, fmt.Errorf("explore: ask who blocks whom: %w", err)
		}
		for _, b := range by {
			if id, ours := byPID[b]; ours && !slices.Contains(out[byPID[pid]], id) {
				out[byPID[pid]] = append(out[byPID[pid]], id)
			}
		}
		slices.Sort(out[byPID[pid]])
	}
	return out, rows.Err()
}

// stopWaiters stops the backends of those that wait, where two or more do: one COMMIT can let all of them go at once, and
// which comes first would be PostgreSQL's to decide. A stopped backend is let go as the others are, and notices later.
// Stopping is safe only where the wait was told by PostgreSQL's notice, which it sends after the check for deadlocks: from
// then on the backend sleeps, and holds nothing that others need to get on.
func (w *world) stopWaiters() error {
	if !w.e.stops {
		return nil
	}
	var list []*session
	for _, s := range w.sessions {
		if s.state == waiting && s.blocked.outside == "" {
			list = append(list, s)
		}
	}
	if len(list) < 2 {
		return nil
	}
	for _, s := range list {
		if s.blocked.stopped || !s.noticed.Load() {
			continue
		}
		if err := stopProcess(s.pid); err != nil {
			return fmt.Errorf("explore: stop the backend of session %c: %w", 'A'+rune(s.id), err)
		}
		s.blocked.stopped = true
	}
	return nil
}

// resume lets go on who no longer waits: all at once, or where backends are stopped the one that has waited longest; the next
// recheck, after that one stands again, brings the others.
func (w *world) resume(free []*session) error {
	slices.SortFunc(free, func(s, t *session) int { return cmp.Compare(s.blocked.since, t.blocked.since) })
	for _, s := range free {
		stopped := s.blocked.stopped
		if err := w.cont(s); err != nil {
			return err
		}
		s.state = running
		if stopped {
			return nil
		}
	}
	return nil
}

// cont continues a stopped backend.
func (w *world) cont(s *session) error {
	if !s.blocked.stopped {
		return nil
	}
	s.blocked.stopped = false
	if err := contProcess(s.pid); err != nil {
		return fmt.Errorf("explore: continue the backend of session %c: %w", 'A'+rune(s.id), err)
	}
	return nil
}
