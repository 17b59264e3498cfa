package explore

import (
	"context"
	"slices"
	"weak"

	"idemlab/internal/schedule"
)

// mutex is an Env.Lock. The scheduler owns it; what waits for it is known, not guessed.
type mutex struct {
	owner *session
	queue []*session
}

// lock is Env.Lock: taking and giving back are steps. Which attempt asks is in the context.
func lock(ctx context.Context, w *world, name string) (func(), error) {
	a := attemptOf(ctx)
	if a == nil {
		return nil, errNoAttempt
	}
	if _, err := a.stand(op{name: "lock", verb: "lock " + name, kind: opLock, mutex: name, limits: a.limits(ctx, "")}); err != nil {
		return nil, err
	}
	a.note(op{name: "lock"}, "locked", theMutex(name, schedule.Lock))
	return func() {
		o := op{name: "unlock", verb: "unlock " + name, kind: opUnlock, mutex: name}
		if _, err := a.stand(o); err == nil {
			a.note(o, "unlocked", theMutex(name, schedule.Release))
		}
	}, nil
}

// asking is the context's key for the attempt.
type asking struct{}

// attemptOf is the attempt that a handler's context is of, nil where it is of none.
func attemptOf(ctx context.Context) *attempt {
	p, _ := ctx.Value(asking{}).(weak.Pointer[attempt])
	return p.Value()
}

func theMutex(name string, m schedule.Mode) schedule.Footprint {
	return schedule.Touch(schedule.Access{Object: schedule.Outside("mutex " + name), Mode: m})
}

// takes gives the session the mutex it asks for, or puts it into the queue.
func (w *world) takes(s *session) bool {
	m := w.mutexes[s.at.mutex]
	if m == nil {
		m = &mutex{}
		w.mutexes[s.at.mutex] = m
	}
	if m.owner == nil {
		m.owner = s
		return true
	}
	m.queue = append(m.queue, s)
	s.state = waiting
	w.waits++
	s.blocked = blockage{by: []int{m.owner.id}, since: w.waits, outside: s.at.mutex}
	w.waited(s)
	w.turn().touch(theMutex(s.at.mutex, schedule.Lock))
	return false
}

// handOn gives the mutex to whoever came first, which goes on at once.
func (w *world) handOn(s *session, name string) {
	m := w.mutexes[name]
	if m == nil || m.owner != s {
		return
	}
	w.turn().touch(theMutex(name, schedule.Release))
	m.owner = nil
	if len(m.queue) == 0 {
		return
	}
	m.owner = m.queue[0]
	m.queue = slices.Delete(m.queue, 0, 1)
	w.letGo(m.owner)
}
