package schedule

import (
	"fmt"
	"slices"
	"strings"
)

// order is the happens-before relation of a run: before[j] holds every i that comes before j in all orders of its class.
// immediate[j] are those with nothing in between.
type order struct {
	before    []set
	immediate [][]int
}

// orderOf is built from program order, from who woke whom, and from rel.
func orderOf(points []Point, rel Relation) order {
	o := order{make([]set, len(points)), make([][]int, len(points))}
	for j := range points {
		o.before[j] = newSet(len(points))
		for i := j - 1; i >= 0; i-- {
			if o.before[j].has(i) || !ordered(points, i, j, rel) {
				continue
			}
			o.immediate[j] = append(o.immediate[j], i)
			o.before[j].add(i)
			o.before[j].addAll(o.before[i])
		}
	}
	return o
}

func ordered(points []Point, i, j int, rel Relation) bool {
	e, f := points[i].Event, points[j].Event
	return e.Session == f.Session || e.woke(f.Session) || rel(e.Foot, f.Foot)
}

// Class names the set of orders that cannot be told apart from the run's, under rel: two runs are in one class exactly when
// one can be made from the other by swapping neighbours that do not depend on each other (Mazurkiewicz). The name is the
// class's first member in the order of sessions. Answers are left out: whether one shows as a point of its own depends on
// whether a death was still possible, and not on what happened.
func (r Run) Class(rel Relation) string {
	points := slices.DeleteFunc(slices.Clone(r.Points), func(p Point) bool { return p.Event.Kind == Answer })
	o := orderOf(points, rel)
	done := newSet(len(points))
	var b strings.Builder
	for range points {
		j := firstReady(points, o, done)
		done.add(j)
		e := points[j].Event
		fmt.Fprintf(&b, "%c%d%s ", 'A'+rune(e.Session), e.Kind, e.Step)
	}
	return b.String()
}

func firstReady(points []Point, o order, done set) int {
	best := -1
	for j, p := range points {
		if !done.has(j) && done.hasAll(o.before[j]) && (best < 0 || p.Event.Session < points[best].Event.Session) {
			best = j
		}
	}
	return best
}
