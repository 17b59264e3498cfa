package schedule

import "cmp"

// Cost orders schedules by how hard they are to explain: fewest faults first, then fewest switches between sessions.
type Cost struct{ Faults, Switches int }

// Compare is negative where c is less than d.
func (c Cost) Compare(d Cost) int {
	return cmp.Or(cmp.Compare(c.Faults, d.Faults), cmp.Compare(c.Switches, d.Switches))
}

// after is the cost once a is done, where last went before it (-1: nobody).
func (c Cost) after(last int, a Action) Cost {
	if a.Kind == Answer {
		return c
	}
	if a.Kind.Fault() {
		c.Faults++
	}
	if last >= 0 && last != a.Session {
		c.Switches++
	}
	return c
}

// Cost is what the run's schedule costs.
func (r Run) Cost() Cost { return costOf(r.Points, len(r.Points)) }

func costOf(points []Point, n int) Cost {
	var c Cost
	last := -1
	for _, p := range points[:n] {
		c = c.after(last, p.Event.Action)
		if p.Event.Kind != Answer {
			last = p.Event.Session
		}
	}
	return c
}
