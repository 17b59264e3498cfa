package schedule

import (
	"container/heap"
	"context"
	"math"
)

// Full runs every order of events, cheapest first. Stopped early, it has run every order that costs less than Least.
type Full struct {
	queue branches
	seq   int
	most  int // faults
}

// NewFull goes from fewest faults and fewest switches to most.
func NewFull() *Full {
	return &Full{branches{compare: Cost.Compare, list: root()}, 0, math.MaxInt}
}

// NewFewestSwitches goes from fewest switches to most, through the orders with at most that many faults. It is for finding
// the fewest switches where the fewest faults are known.
func NewFewestSwitches(faults int) *Full {
	bySwitches := func(c, d Cost) int { return Cost{c.Switches, c.Faults}.Compare(Cost{d.Switches, d.Faults}) }
	return &Full{branches{compare: bySwitches, list: root()}, 0, faults}
}

func root() []branch { return []branch{{next: Action{Session: -1}}} }

// branch is a run not yet made: repeat the first n points of an earlier one, then choose otherwise.
type branch struct {
	points  []Point
	next    Action // at the root: no session
	enabled []Action
	least   Cost // no run through this branch costs less
	seq     int  // ties go to the older branch
}

// More says whether an order is left.
func (f *Full) More() bool { return f.queue.Len() > 0 }

// Least is what the runs still to come cost at the least. It means nothing where More is false.
func (f *Full) Least() Cost { return f.queue.list[0].least }

// Run makes the cheapest run left, and notes the branches that it passes.
func (f *Full) Run(ctx context.Context, w World) (Run, error) {
	b := f.queue.list[0]
	var r Run
	for _, p := range b.points {
		if err := r.repeat(ctx, w, p); err != nil {
			return Run{}, err
		}
	}
	fixed := len(b.points)
	if b.next.Session >= 0 {
		fixed++
		if err := r.take(ctx, w, b); err != nil {
			return Run{}, err
		}
	}
	if err := r.onwards(ctx, w); err != nil {
		return Run{}, err
	}
	heap.Pop(&f.queue)
	f.note(r, fixed)
	return r, nil
}

func (r *Run) take(ctx context.Context, w World, b branch) error {
	enabled := w.Enabled()
	if !equal(enabled, b.enabled) {
		return diverged(len(r.Points)+1, b.enabled, enabled)
	}
	return r.advance(ctx, w, enabled, b.next)
}

// note adds the branches that leave r at or after the point from.
func (f *Full) note(r Run, from int) {
	for i := from; i < len(r.Points); i++ {
		p := r.Points[i]
		cost, last := costOf(r.Points, i), (&Run{Points: r.Points[:i]}).last()
		for _, a := range p.Enabled {
			if a == p.Event.Action {
				continue
			}
			f.seq++
			least := cost.after(last, a)
			if least.Faults > f.most {
				continue
			}
			least.Switches += others(p.Enabled, a.Session)
			heap.Push(&f.queue, branch{r.Points[:i:i], a, p.Enabled, least, f.seq})
		}
	}
}

// others counts the other sessions that can go: each will cost a switch yet.
func others(enabled []Action, session int) int {
	n, seen := 0, -1
	for _, a := range enabled {
		if a.Session != session && a.Session != seen && a.Kind != Answer {
			n, seen = n+1, a.Session
		}
	}
	return n
}

// branches is a heap, cheapest first.
type branches struct {
	compare func(c, d Cost) int
	list    []branch
}

func (q *branches) Len() int      { return len(q.list) }
func (q *branches) Swap(i, j int) { q.list[i], q.list[j] = q.list[j], q.list[i] }
func (q *branches) Push(x any)    { q.list = append(q.list, x.(branch)) }
func (q *branches) Less(i, j int) bool {
	if c := q.compare(q.list[i].least, q.list[j].least); c != 0 {
		return c < 0
	}
	return q.list[i].seq < q.list[j].seq
}

func (q *branches) Pop() any {
	n := len(q.list) - 1
	b := q.list[n]
	q.list[n] = branch{}
	q.list = q.list[:n]
	return b
}
