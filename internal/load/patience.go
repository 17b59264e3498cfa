package load

import (
	"context"
	"sync"
	"time"
)

// patience ends attempts that have lasted too long. A context.WithTimeout for each would set and stop a timer, and queue at the lock of
// the one context that all are made from: at full rate it is the dearest thing that the engine adds to an attempt. Here all have the same
// limit, so that those of a part end in the order in which they began, and one look now and then finds who is over it.
type patience struct {
	limit time.Duration
	parts [parts]waiters
}

// waiters are attempts under way, the oldest first.
type waiters struct {
	mu          sync.Mutex
	first, last *waiter
	ended       error // the cause for which all were ended; nil while there may be more
}

type waiter struct {
	of         *waiters
	until      time.Time
	end        context.CancelCauseFunc
	prev, next *waiter
}

func newPatience(limit time.Duration) *patience { return &patience{limit: limit} }

// begin returns the context of an attempt that begins now, and the attempt as a waiter, of which over must be called when it is over. The
// context's cause is context.DeadlineExceeded where the attempt has lasted too long, and the run's where that was ended.
func (p *patience) begin(seq uint64, now time.Time) (context.Context, *waiter) {
	ctx, end := context.WithCancelCause(context.Background())
	w := &waiter{of: &p.parts[seq%parts], until: now.Add(p.limit), end: end}
	w.of.enter(w)
	return ctx, w
}

func (ws *waiters) enter(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.ended != nil {
		w.end(ws.ended)
	}
	w.prev = ws.last
	if ws.last == nil {
		ws.first = w
	} else {
		ws.last.next = w
	}
	ws.last = w
}

func (w *waiter) over() {
	w.of.mu.Lock()
	if w.prev == nil {
		w.of.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		w.of.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.of.mu.Unlock()
	w.end(nil)
}

// watch ends who is over the limit, a fiftieth late at the most, and everybody when work ends. It returns then.
func (p *patience) watch(work context.Context) {
	tick := time.NewTicker(min(max(p.limit/50, time.Millisecond), 100*time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case now := <-tick.C:
			for i := range p.parts {
				p.parts[i].expire(now)
			}
		case <-work.Done():
			for i := range p.parts {
				p.parts[i].stop(context.Cause(work))
			}
			return
		}
	}
}

func (ws *waiters) expire(now time.Time) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := ws.first; w != nil && w.until.Before(now); w = w.next {
		w.end(context.DeadlineExceeded)
	}
}

func (ws *waiters) stop(why error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.ended = why
	for w := ws.first; w != nil; w = w.next {
		w.end(why)
	}
}
