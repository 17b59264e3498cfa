package schedule

// races finds the pairs of steps of r whose order could have been the other, and sees to it that the other is tried. Pairs
// that end before the point from were found when that part was first run.
func (d *DPOR) races(r Run, from int) {
	o := orderOf(r.Points, d.rel)
	for j := from; j < len(r.Points); j++ {
		for _, i := range o.immediate[j] {
			if !racing(r.Points, i, j) {
				continue
			}
			d.stack[i].reverse(initials(r.Points, o, i, j))
		}
	}
}

// racing says whether j, which depends on i with nothing in between, could have gone first. It could not where i let j's
// session go on: then j was waiting. Where j lets i's session go on it could: i would not have had to wait.
func racing(points []Point, i, j int) bool {
	e, f := points[i].Event, points[j].Event
	return e.Session != f.Session && !e.woke(f.Session)
}

// initials are the sessions that can go first in what follows point i without its event: everything up to j that does not
// come after i, and then j.
func initials(points []Point, o order, i, j int) uint32 {
	var sessions uint32
	v := newSet(len(points))
	for k := i + 1; k <= j; k++ {
		if k < j && o.before[k].has(i) {
			continue
		}
		if !meets(o.before[k], v) {
			sessions |= 1 << points[k].Event.Session
		}
		v.add(k)
	}
	return sessions
}

func meets(s, t set) bool {
	for i := range s {
		if s[i]&t[i] != 0 {
			return true
		}
	}
	return false
}

// reverse makes sure that the node tries one of the sessions.
func (n *node) reverse(sessions uint32) {
	if n.wanted&sessions != 0 {
		return
	}
	var can uint32
	for _, a := range n.enabled {
		can |= 1 << a.Session
		if sessions&(1<<a.Session) != 0 {
			n.want(a.Session)
			return
		}
	}
	n.wanted |= can // none can go here: try all that can, and miss nothing
}
