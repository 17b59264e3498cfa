package lockwait

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Statement is one round trip as the client saw it.
type Statement struct {
	Who        string // the attempt, as reports name it
	Step       string
	PID        uint32
	Start, End time.Time
}

// Hold is the time for which an attempt had a backend to itself.
type Hold struct {
	Who      string
	PID      uint32
	From, To time.Time
}

// Blocked is one statement that the server was seen to block.
type Blocked struct {
	Waiter, Step string
	Event        string
	For          string        // who was in the way; "pid N" for a backend that is none of the attempts'
	Server       time.Duration // the waits within the statement, added up, by the server's clock
	Client       time.Duration // the whole statement, by ours
}

// Join lays the server's waits over the client's statements. Waits of one statement (for the row, then for its writer) become
// one; a wait in no known statement, such as one of a warm-up, is dropped. The longest come first.
func Join(waits []Wait, statements []Statement, holds []Hold) []Blocked {
	byPID := map[uint32][]Statement{}
	for _, st := range statements {
		byPID[st.PID] = append(byPID[st.PID], st)
	}
	joined := map[Statement]*Blocked{}
	for _, w := range waits {
		st, ok := during(byPID[w.PID], w)
		if !ok {
			continue
		}
		b := joined[st]
		if b == nil {
			b = &Blocked{Waiter: st.Who, Step: st.Step, Event: w.Event, For: holders(w, holds), Client: st.End.Sub(st.Start)}
			joined[st] = b
		}
		b.Server += w.Length
	}
	all := make([]Blocked, 0, len(joined))
	for _, b := range joined {
		// The server cannot have blocked a statement for longer than it took: halving the last gap may overshoot.
		b.Server = min(b.Server, b.Client)
		all = append(all, *b)
	}
	slices.SortFunc(all, func(a, b Blocked) int {
		if a.Server != b.Server {
			return int(b.Server - a.Server)
		}
		return strings.Compare(a.Waiter, b.Waiter)
	})
	return all
}

// during finds the statement in which a backend was seen waiting: the one that covers most of the time between the looks. A
// look takes a moment, so that the end of one statement and the start of the next may both fall into it.
func during(statements []Statement, w Wait) (Statement, bool) {
	var best Statement
	var most time.Duration = -1
	for _, st := range statements {
		covered := earlier(st.End, w.LastSeen).Sub(later(st.Start, w.Seen))
		if covered >= 0 && covered > most {
			best, most = st, covered
		}
	}
	return best, most >= 0
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// holders names who had each backend in the way. One backend may serve several attempts within one wait: who had it when the
// wait was first seen is who was in the way, whatever the order of the holds.
func holders(w Wait, holds []Hold) string {
	var names []string
	for _, pid := range w.Blockers {
		at := slices.IndexFunc(holds, func(h Hold) bool { return h.PID == pid && !h.From.After(w.Seen) && h.To.After(w.Seen) })
		if at < 0 { // nobody yet, or not any more: the look took a moment
			at = slices.IndexFunc(holds, func(h Hold) bool { return h.PID == pid && !h.From.After(w.LastSeen) && !h.To.Before(w.Seen) })
		}
		if at < 0 {
			names = append(names, fmt.Sprintf("pid %d", pid))
		} else {
			names = append(names, holds[at].Who)
		}
	}
	return strings.Join(names, ", ")
}
