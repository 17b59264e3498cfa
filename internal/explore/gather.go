package explore

import (
	"context"
	"fmt"
	"slices"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// batch is one of Env.Gather's. The scheduler owns it.
//
// Who finds an open batch of the name, in its instance, comes along; who finds none opens one and leads it. To join is a step; to
// depart is one, after which others open the next; what Run sends are steps of the leader's session; and to arrive is one, which
// lets those go on that came along. So a search meets every way in which sessions can share a batch or miss one another, several
// batches of a name under way at once among them: all that an engine with a clock can make of Batch.Wait.
//
// Those who share a batch share a process, and its end: a leader that dies before its batch has arrived takes all of it along.
type batch struct {
	name    string // with the instance
	most    int
	members []*attempt // the leader first
	items   []any
	err     error // Run's
}

// gather is Env.Gather. Which attempt asks is in the context.
func gather(ctx context.Context, w *world, name string, db scenarios.DB, b scenarios.Batch, item any) (int, error) {
	a := attemptOf(ctx)
	if a == nil {
		return 0, errNoAttempt
	}
	own := &batch{name: name, most: b.Most, items: []any{item}}
	join := op{name: "join", verb: "join " + name, kind: opJoin, batch: own, limits: a.limits(ctx, "")}
	if _, err := a.stand(join); err != nil {
		return 0, err
	}
	t := a.batch
	if t == own {
		a.note(join, "leads", t.touched())
		if err := a.lead(ctx, t, db, b); err != nil {
			return 0, err
		}
	} else {
		a.note(join, "arrived", nil)
	}
	a.batch = nil
	return len(t.items), t.err
}

// lead departs, runs the batch and arrives, if anybody waits for that.
func (a *attempt) lead(ctx context.Context, t *batch, db scenarios.DB, b scenarios.Batch) error {
	depart := op{name: "depart", verb: "depart " + t.name, kind: opDepart, batch: t}
	if _, err := a.stand(depart); err != nil {
		return err
	}
	a.note(depart, t.size(), t.touched())
	t.err = b.Run(ctx, db, slices.Clone(t.items))
	if len(t.members) == 1 {
		return nil
	}
	arrive := op{name: "arrive", verb: "arrive " + t.name, kind: opArrive, batch: t}
	if _, err := a.stand(arrive); err != nil {
		return err
	}
	a.note(arrive, inWords(t.err), nil)
	return nil
}

func (t *batch) size() string {
	if len(t.items) == 1 {
		return "alone"
	}
	return fmt.Sprintf("%d together", len(t.items))
}

func (t *batch) touched() schedule.Footprint {
	return schedule.Touch(schedule.Access{Object: schedule.Outside("batch " + t.name), Mode: schedule.Lock})
}

// joins says whether the session leads a batch now; otherwise it waits for the one that it has joined.
func (w *world) joins(s *session) bool {
	own := s.at.batch
	t := w.open[own.name]
	if t == nil {
		t = own
		w.open[t.name] = t
	} else {
		t.items = append(t.items, own.items...)
	}
	t.members = append(t.members, s.attempt)
	s.attempt.batch = t
	if len(t.members) >= t.most {
		delete(w.open, t.name)
	}
	if t == own {
		return true
	}
	s.state = waiting
	w.waits++
	s.blocked = blockage{by: []int{t.members[0].s.id}, since: w.waits, outside: t.name}
	w.waited(s)
	turn := w.turn()
	turn.touch(t.touched())
	turn.Blocked, turn.BlockedBy = true, s.blocked.by
	return false
}

// closes lets nobody else join.
func (w *world) closes(t *batch) {
	if w.open[t.name] == t {
		delete(w.open, t.name)
	}
}

// arrives lets those go on that came along.
func (w *world) arrives(t *batch) {
	w.turn().gave = true
	for _, m := range t.members[1:] {
		w.letGo(m.s)
	}
}

// company are the sessions that die when s does, s first.
func (w *world) company(s *session) []*session {
	all := []*session{s}
	t := s.attempt.batch
	if t == nil {
		return all
	}
	w.closes(t)
	w.turn().touch(t.touched())
	for _, m := range t.members {
		if m.s != s {
			all = append(all, m.s)
		}
	}
	return all
}
