package instance

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"time"

	"idemlab/scenarios"
)

// Gatherer is scenarios.Env.Gather of one instance. The zero value is ready.
//
// It waits only for what is worth waiting for. A batch leaves at once where none of the instance is under way, and otherwise when
// that has returned and it is its turn, when it is full, or when its time is up. So nobody waits where there is no load, and
// under load a batch grows to all that comes in while another is under way. (PostgreSQL's own group commit works alike: who
// comes during a flush of the log waits for it, and the next flush is for all of them.)
//
// Batches of different names take turns, too. Side by side each would wait for the other's flush, and carry half.
type Gatherer struct {
	mu       sync.Mutex
	underWay int
	open     map[string]*batch // by name: can be joined
	queue    []*batch          // have not left, the oldest first
	due      int               // members of the last to return that have not joined another since
	patience time.Duration     // with those; 0 means moment, and tests have more
}

// batch is led by its first member.
type batch struct {
	scenarios.Batch
	items   []any
	waiting int           // members whose contexts have not ended
	hurry   chan struct{} // it is full, or it is its turn
	left    bool
	ctx     context.Context // Run's, where it has left with two or more
	cancel  context.CancelFunc
	done    chan struct{} // closed when n and err are what it came to
	n       int
	err     error
}

// moment is how long a batch lingers for one more member: a few times what an attempt takes from one batch to the next, if the
// acquirer takes no time.
const moment = 20 * time.Microsecond

// nobody stands in the place of a member whose context ended before the batch left.
type nobody struct{}

// errLeader is what the others are told where Run panicked.
var errLeader = errors.New("the attempt that led the batch did not come back from it")

// Gather is scenarios.Env.Gather.
func (g *Gatherer) Gather(ctx context.Context, db scenarios.DB, what scenarios.Batch, item any) (int, error) {
	if r, ok := ctx.Value(recording{}).(*recorder); ok {
		r.inFlight(time.Now())
	}
	b, place, turn := g.join(what, item)
	if place > 0 {
		select {
		case <-b.done:
			return b.n, b.err
		case <-ctx.Done():
			g.giveUp(b, place)
			return 0, ctx.Err()
		}
	}
	if !turn {
		b.await(ctx)
	}
	g.linger(b)
	return g.lead(ctx, db, b)
}

// join adds the item to the open batch, or opens one. Place 0 leads it, and must wait unless it is its turn.
func (g *Gatherer) join(what scenarios.Batch, item any) (b *batch, place int, turn bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b = g.open[what.Name]
	if b == nil {
		b = &batch{Batch: what, hurry: make(chan struct{}, 1), done: make(chan struct{})}
		if g.open == nil {
			g.open = map[string]*batch{}
		}
		g.open[what.Name] = b
		g.queue = append(g.queue, b)
	}
	place = len(b.items)
	b.items = append(b.items, item)
	b.waiting++
	g.due = max(0, g.due-1)
	if len(b.items) >= b.Most {
		delete(g.open, b.Name)
		b.hurryUp()
	}
	return b, place, g.underWay == 0 && g.queue[0] == b
}

func (b *batch) hurryUp() {
	select {
	case b.hurry <- struct{}{}:
	default: // the leader has been told
	}
}

// await returns when it is time to leave. A leader whose context ends leaves too: others may wait for it.
func (b *batch) await(ctx context.Context) {
	timer := time.NewTimer(b.Wait)
	defer timer.Stop()
	select {
	case <-b.hurry:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// linger lets others run while some of those whom the last batch has let go are still on their way here, who would be too late by
// microseconds. It leaves without them when nobody has come for a moment: they may have gone elsewhere.
func (g *Gatherer) linger(b *batch) {
	came, since := 0, time.Now()
	for {
		g.mu.Lock()
		n, due := len(b.items), g.due
		g.mu.Unlock()
		if n > came {
			came, since = n, time.Now()
		}
		if due == 0 || n >= b.Most || time.Since(since) > cmp.Or(g.patience, moment) {
			return
		}
		runtime.Gosched()
	}
}

// lead runs the batch. Where the leader's own context ends it goes on, for as long as anybody waits for it.
func (g *Gatherer) lead(ctx context.Context, db scenarios.DB, b *batch) (int, error) {
	items := g.depart(ctx, b)
	if len(items) == 0 {
		return 0, ctx.Err()
	}
	b.n, b.err = len(items), errLeader
	defer g.arrive(b)
	if b.ctx == nil {
		b.err = b.Run(ctx, db, items)
		return b.n, b.err
	}
	defer context.AfterFunc(ctx, func() { g.giveUp(b, 0) })()
	b.err = b.Run(b.ctx, db, items)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	return b.n, b.err
}

// depart closes the batch, and returns the items of those who still wait.
func (g *Gatherer) depart(ctx context.Context, b *batch) []any {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[b.Name] == b {
		delete(g.open, b.Name)
	}
	g.queue = slices.DeleteFunc(g.queue, func(q *batch) bool { return q == b })
	b.left = true
	shared := len(b.items) > 1
	if ctx.Err() != nil {
		b.items[0] = nobody{}
	}
	b.items = slices.DeleteFunc(b.items, func(item any) bool { return item == nobody{} })
	if len(b.items) == 0 {
		g.next()
		return nil
	}
	g.underWay++
	if shared {
		b.ctx, b.cancel = context.WithCancel(context.WithoutCancel(ctx))
	}
	return b.items
}

// arrive lets everybody go on, and the next batch leave.
func (g *Gatherer) arrive(b *batch) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(b.done)
	if b.cancel != nil {
		b.cancel()
	}
	g.underWay--
	g.due = b.n
	g.next()
}

func (g *Gatherer) next() {
	if g.underWay == 0 && len(g.queue) > 0 {
		g.queue[0].hurryUp()
	}
}

// giveUp takes a member out whose context has ended. A batch under way that nobody waits for any more is cancelled.
func (g *Gatherer) giveUp(b *batch, place int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b.waiting--
	switch {
	case !b.left:
		b.items[place] = nobody{}
	case b.waiting == 0:
		b.cancel()
	}
}
