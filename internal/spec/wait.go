package spec

import (
	"slices"
	"time"
)

// wait is what one session is up to, as the server and its messages tell.
type wait struct {
	running bool  // it has a statement that the server has not finished
	limited bool  // a time limit may end its statements
	expires bool  // a time limit may end its transactions while it is idle
	on      []int // sessions in its way
}

// waits is who waits for whom, by the sessions' numbers.
type waits []wait

// hopeless says that a session cannot go on unless somebody is given a further step: one that is in its way is idle, or hopeless
// itself. Nothing of this is a matter of time. Two that wait for each other are not hopeless, because the server's deadlock detector
// will free one of them; nor is whoever waits within a time limit, or for an idle transaction that has one.
func (w waits) hopeless(i int) bool { return w.stands(i, true) }

// stands is hopeless, but takes time limits into account only when told to.
func (w waits) stands(i int, limits bool) bool {
	if !w[i].running || limits && w[i].limited || w.inCycle(i) {
		return false
	}
	return slices.ContainsFunc(w[i].on, func(j int) bool {
		return !w[j].running && !(limits && w[j].expires) || w.stands(j, limits)
	})
}

// inCycle says whether a session waits for itself, by way of others.
func (w waits) inCycle(i int) bool {
	seen := map[int]bool{}
	var reaches func(j int) bool
	reaches = func(j int) bool {
		if !w[j].running || seen[j] {
			return false
		}
		seen[j] = true
		return slices.ContainsFunc(w[j].on, func(k int) bool { return k == i || reaches(k) })
	}
	return reaches(i)
}

// stuck says that a session is hopeless and that nobody else is on the move who might yet do something about it, such as
// cancel its statement.
func (w waits) stuck(i int) bool {
	for j := range w {
		if w[j].running && !w.hopeless(j) {
			return false
		}
	}
	return w.hopeless(i)
}

// blocked says whether a step that ran for so long is to be reported as waiting. isolationtester looks every 10 ms and reports
// whatever is then in the way. We report at once what cannot pass, and leave longer to what can: a step that waits for another
// which is about to finish would be reported as waiting on a busy machine, and not on a quiet one.
func (w waits) blocked(i int, ran time.Duration) bool {
	switch {
	case len(w[i].on) == 0:
		return false
	case w.stands(i, false): // a time limit, if there is one, has not struck yet
		return true
	case w.inCycle(i):
		return ran >= isolationtesterLook
	default:
		return ran >= passing
	}
}

const (
	poll                = 2 * time.Millisecond   // between two looks at the server while a step has not answered
	lastLook            = 5 * time.Millisecond   // for messages that were sent before a wait that the server reports
	isolationtesterLook = 10 * time.Millisecond  // between two looks of isolationtester's
	passing             = 100 * time.Millisecond // for a wait that may end by itself to do so; see blocked
)
