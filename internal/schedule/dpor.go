package schedule

import (
	"context"
	"slices"
)

// DPOR runs one order of each class under its Relation, and gives up half-way those runs that turn out to be in a class
// already seen (Run.Redundant).
//
// Two things differ from the textbook. A session that waits for another has made its step (the attempt, which queued), and the
// step that lets it go on carries the footprint of what it then did. And a session may have several ways to go on (run its
// step, die before it): wherever a session is to be tried, each of its ways is.
type DPOR struct {
	rel     Relation
	stack   []*node
	started bool
}

// NewDPOR searches under rel.
func NewDPOR(rel Relation) *DPOR { return &DPOR{rel: rel} }

// node is a point of the run being varied.
type node struct {
	enabled []Action
	asleep  []sleeper // tried at an earlier point, and nothing since depends on it: any run that takes it now has been seen
	tried   []sleeper // tried here, the last of them being what the current run does
	wanted  uint32    // the sessions to be tried here, as bits
	event   Event     // of the last tried
}

// sleeper is an action with what it touched when it was tried.
type sleeper struct {
	Action
	foot Footprint
}

// More says whether a class may be left.
func (d *DPOR) More() bool {
	if !d.started {
		return true
	}
	for _, n := range d.stack {
		if _, ok := n.next(); ok {
			return true
		}
	}
	return false
}

// Run follows the current run down to the deepest point where something is left to try, tries it, and goes on from there.
func (d *DPOR) Run(ctx context.Context, w World) (Run, error) {
	depth := d.deepest()
	var r Run
	for _, n := range d.stack[:depth] {
		if err := r.repeat(ctx, w, Point{n.enabled, n.event}); err != nil {
			return Run{}, err
		}
	}
	fresh, err := d.explore(ctx, w, &r, depth)
	if err != nil {
		return Run{}, err
	}
	d.stack, d.started = fresh, true
	d.races(r, depth)
	return r, nil
}

// deepest is the index of the last point with something left to try; at the very start 0.
func (d *DPOR) deepest() int {
	for i := len(d.stack) - 1; i >= 0; i-- {
		if _, ok := d.stack[i].next(); ok {
			return i
		}
	}
	return 0
}

// explore goes on from point depth to the end. It changes no node of the stack, so that the run can be tried again: the
// stack that it returns has copies from depth on.
func (d *DPOR) explore(ctx context.Context, w World, r *Run, depth int) ([]*node, error) {
	stack := slices.Clone(d.stack[:depth])
	for i := depth; ; i++ {
		enabled := w.Enabled()
		n, ok := d.point(stack, i, depth, enabled)
		if !ok {
			return stack, nil
		}
		if !equal(enabled, n.enabled) {
			return nil, diverged(i+1, n.enabled, enabled)
		}
		a, ok := n.choose(r)
		if !ok {
			r.Redundant = true
			return stack, nil
		}
		if err := r.advance(ctx, w, n.enabled, a); err != nil {
			return nil, err
		}
		n.event = r.Points[i].Event
		n.tried = append(n.tried, sleeper{a, n.event.Foot})
		stack = append(stack, n)
	}
}

// point is the node for point i: the known one at depth, a new one after it; none at the end of the run.
func (d *DPOR) point(stack []*node, i, depth int, enabled []Action) (*node, bool) {
	if i == depth && i < len(d.stack) {
		n := *d.stack[i]
		n.tried = slices.Clone(n.tried)
		return &n, true
	}
	if len(enabled) == 0 {
		return nil, false
	}
	n := &node{enabled: enabled}
	if i > 0 {
		n.asleep = stack[i-1].still(d.rel)
	}
	return n, true
}

// still are the actions that stay asleep after the node's event.
func (n *node) still(rel Relation) []sleeper {
	var out []sleeper
	for _, s := range slices.Concat(n.asleep, n.tried[:len(n.tried)-1]) {
		if s.Session != n.event.Session && !rel(s.foot, n.event.Foot) {
			out = append(out, s)
		}
	}
	return out
}

// choose picks what to try at the node: what is wanted, or at a new node the cheapest choice that is not asleep.
func (n *node) choose(r *Run) (Action, bool) {
	if n.wanted != 0 {
		return n.next()
	}
	var awake []Action
	for _, a := range n.enabled {
		if !n.covers(n.asleep, a) {
			awake = append(awake, a)
		}
	}
	if len(awake) == 0 {
		return Action{}, false
	}
	a := r.cheapest(awake)
	n.want(a.Session)
	return a, true
}

// want adds a session to those to be tried here. Where one of its ways to go on sleeps and another does not, the races of the
// sleeping way will not be seen from here, so that nothing would say which other session must go before it: then all are
// tried. (A way that touches nothing has no races.)
func (n *node) want(session int) {
	n.wanted |= 1 << session
	var all uint32
	sleeps, awake := false, false
	for _, a := range n.enabled {
		all |= 1 << a.Session
		if a.Session != session {
			continue
		}
		i := slices.IndexFunc(n.asleep, func(s sleeper) bool { return s.Action == a })
		awake = awake || i < 0
		sleeps = sleeps || i >= 0 && len(n.asleep[i].foot) > 0
	}
	if sleeps && awake {
		n.wanted |= all
	}
}

// next is an action of a wanted session that was neither tried here nor is asleep.
func (n *node) next() (Action, bool) {
	for _, a := range n.enabled {
		if n.wants(a.Session) && !n.covers(n.asleep, a) && !n.covers(n.tried, a) {
			return a, true
		}
	}
	return Action{}, false
}

func (n *node) wants(session int) bool { return n.wanted&(1<<session) != 0 }

func (n *node) covers(list []sleeper, a Action) bool {
	return slices.ContainsFunc(list, func(s sleeper) bool { return s.Action == a })
}
