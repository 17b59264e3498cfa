package explore

import (
	"slices"
	"time"
)

// now is the strategy's clock, and notes that it was asked: what comes of the answer no order of steps decides.
func (e *engine) now() time.Time {
	e.clock.Store(true)
	return time.Now()
}

// readsClock says that SQL asks for the time. What a column's DEFAULT does is nobody's decision, and does not count.
func readsClock(sql string) bool {
	return slices.ContainsFunc(tokenize(sql), func(token string) bool {
		switch token {
		case "now", "clock_timestamp", "statement_timestamp", "transaction_timestamp", "timeofday",
			"current_timestamp", "current_time", "current_date", "localtime", "localtimestamp":
			return true
		}
		return false
	})
}
