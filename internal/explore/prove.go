package explore

import (
	"context"
	"slices"
	"time"
)

// prove asks PostgreSQL about the sessions that have not come back, and sets those to waiting that are blocked by one that
// stands still. It says whether some are blocked by one that does not, or not yet.
func (w *world) prove(ctx context.Context) (unclear bool, err error) {
	blockers, err := w.blockers(ctx)
	if err != nil {
		return false, err
	}
	still := w.grounded(blockers)
	for _, s := range w.sessions {
		if s.state != running {
			continue
		}
		if !still[s.id] {
			unclear = unclear || len(blockers[s.id]) > 0
			continue
		}
		if !w.told(s) {
			continue // until its notice comes
		}
		w.waits++
		s.state = waiting
		s.blocked = blockage{by: blockers[s.id], since: w.waits}
		w.waited(s)
		w.blockedNow(s)
	}
	return unclear, w.stopWaiters()
}

// told says whether the check for deadlocks is behind a blocked session. Before it, the session could yet be the one that a
// circle closed later is broken at, and which one that is must not depend on who is faster. Where notices come, this one's is
// waited for, within reason: a strategy may have switched them off.
func (w *world) told(s *session) bool {
	if !w.e.notices || s.noticed.Load() {
		return true
	}
	if s.blocked.silent.IsZero() {
		s.blocked.silent = time.Now()
	}
	return time.Since(s.blocked.silent) > unheard
}

// unheard is how long a notice may take: a thousand times what it does.
const unheard = time.Second

// blockedNow notes in the turn that s waits: the session whose turn it is, or one that went on and waits again.
func (w *world) blockedNow(s *session) {
	t := w.turn()
	if foot := s.attempt.doing.Load(); foot != nil {
		t.touch(*foot)
	}
	if s.id == t.Session {
		t.Blocked, t.BlockedBy = true, s.blocked.by
	}
}

// recheck sets those running again that nobody blocks any more. Who is still blocked, if only by one that was just let go and
// has not come to rest, waits on; it is asked about again when that one has.
func (w *world) recheck(ctx context.Context) error {
	blockers, err := w.blockers(ctx)
	if err != nil {
		return err
	}
	still := w.grounded(blockers)
	var free, circle []*session
	for _, s := range w.sessions {
		switch {
		case s.state != waiting || s.blocked.outside != "":
		case still[s.id]:
			w.stillWaits(s, blockers[s.id])
			s.blocked.by = blockers[s.id]
			w.waited(s) // for somebody else, or for one that has set a limit since
		case len(blockers[s.id]) == 0:
			free = append(free, s)
		default:
			circle = append(circle, s)
		}
	}
	for _, s := range free {
		s.noticed.Store(false) // should it have to wait again, that will be said again
	}
	if len(free) == 0 { // nobody runs, and these block each other: PostgreSQL is about to end one of them
		free = circle
	}
	return w.resume(free)
}

// stillWaits notes that the turn gave something back that s waits for, though it waits on for somebody else too. Whoever gives
// back the last of it lets s go, so that the order of two who give back matters here, and is otherwise of no account.
func (w *world) stillWaits(s *session, by []int) {
	t, foot := w.turn(), s.attempt.doing.Load()
	gave := slices.Contains(s.blocked.by, t.Session) && t.foot.GivesBack() || !slices.Equal(s.blocked.by, by)
	if gave && foot != nil && w.e.o.relation(t.foot, *foot) {
		t.touch(*foot)
	}
}

// grounded are the sessions that certainly wait: blocked by one that stands still, or by one that certainly waits, and not
// part of a circle, which PostgreSQL is about to break. PostgreSQL's proof ends with the state in which it was asked for;
// this one holds until the explorer lets somebody go, because whoever stands still gives nothing back.
func (w *world) grounded(blockers map[int][]int) map[int]bool {
	still := map[int]bool{}
	for changed := true; changed; {
		changed = false
		for id, by := range blockers {
			for _, b := range by {
				if !still[id] && (w.stands(b) || still[b]) && !reaches(blockers, b, id) {
					still[id], changed = true, true
				}
			}
		}
	}
	return still
}

// stands: its backend holds what it holds until the scheduler lets it go.
func (w *world) stands(id int) bool {
	s := w.sessions[id]
	return s.state == unbegun || s.state == parked || s.state == answered || s.state == finished || s.state == waiting && s.blocked.outside != ""
}

// reaches says whether the chain of blockers leads from one session to another.
func reaches(blockers map[int][]int, from, to int) bool {
	seen := map[int]bool{}
	var visit func(int) bool
	visit = func(id int) bool {
		if id == to {
			return true
		}
		if seen[id] {
			return false
		}
		seen[id] = true
		for _, b := range blockers[id] {
			if visit(b) {
				return true
			}
		}
		return false
	}
	return visit(from)
}
