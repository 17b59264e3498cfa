package storage

import "time"

const aDay = 24 * time.Hour

// calendar lays the keys over time as a table holds them in its steady state, at the moment before a day's purge: one lifetime of
// keys that still count, and behind them one day of keys that have expired. Days are UTC's, and so are those of the partitions.
type calendar struct {
	start    time.Time // of the expired day, a midnight
	lifetime time.Duration
}

// newCalendar ends the keys' time at the latest with the day that today began.
func newCalendar(today time.Time, lifetime time.Duration) calendar {
	live := (lifetime + aDay - 1) / aDay // days, whole ones
	return calendar{start: today.UTC().Truncate(aDay).Add(-(live + 1) * aDay), lifetime: lifetime}
}

// cut is the moment before which keys have expired.
func (c calendar) cut() time.Time { return c.start.Add(aDay) }

// end is the moment of the purge.
func (c calendar) end() time.Time { return c.cut().Add(c.lifetime) }

// days are those of the keys, the expired one first, and one more for what comes next.
func (c calendar) days() []time.Time {
	var all []time.Time
	for day := c.start; day.Before(c.end()); day = day.Add(aDay) {
		all = append(all, day)
	}
	return append(all, all[len(all)-1].Add(aDay))
}

// at is when the ith of n keys arrived: evenly, which is what a rate is.
func (c calendar) at(i, n int) time.Time {
	span := c.end().Sub(c.start)
	return c.start.Add(time.Duration(float64(span) * float64(i) / float64(n)))
}
