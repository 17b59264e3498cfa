package explore

import (
	"regexp"
	"slices"
	"time"
)

// Time is no part of a schedule. The clock is the real one, and a schedule takes a few milliseconds of it: a lease that lasts longer
// has not run out at any turn, and one that lasts less than a round trip has at each. So those two are explored, one in a run, and
// a --lease in between is refused: what came of it would be a matter of pace. A strategy's own lease nobody asks about: it may have
// run out from the start, as lease-takeover's has, and one of a few milliseconds is explored by the pace of the day.
const (
	// RunOut is the longest lease that has run out whenever anybody looks.
	RunOut = 10 * time.Microsecond
	// Lasting is the shortest that never has.
	Lasting = 10 * time.Second
)

// nowInQuotes is a text that becomes the time when it is cast.
var nowInQuotes = regexp.MustCompile(`(?i)'\s*(now|today|tomorrow|yesterday)\s*'\s*::|\b(timestamptz|timestamp|zone|date|timetz|time|cast\s*\()\s*'\s*(now|today|tomorrow|yesterday)\s*'`)

// readsClock says that SQL asks for the time. What a column's DEFAULT does is nobody's decision, and does not count.
func readsClock(sql string) bool {
	if nowInQuotes.MatchString(sql) {
		return true
	}
	return slices.ContainsFunc(tokenize(sql), func(token string) bool {
		switch token {
		case "now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday",
			"current_timestamp", "current_time", "current_date", "localtime", "localtimestamp":
			return true
		}
		return false
	})
}

// now is Env.Now.
func (e *engine) now() time.Time {
	e.clock.Store(true)
	return time.Now()
}

// every is Env.Every. A timer ticks between steps, at any of them or at none, and none is what is explored: a heartbeat that is not
// heard.
func (e *engine) every(time.Duration, func()) (stop func()) {
	e.clock.Store(true)
	return func() {}
}

// time says what became of the clock, where it was looked at.
func (r Result) time() string {
	switch {
	case !r.Clock:
		return ""
	case 0 < r.Options.Lease && r.Options.Lease <= RunOut:
		return ", every lease run out when it is looked at, no timer ticking"
	}
	return ", time standing still (a lease that lasts never runs out, no timer ticks)"
}
