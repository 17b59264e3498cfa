package race

import (
	"slices"
	"time"

	"idemlab/internal/instance"
	"idemlab/results"
)

// overlap proves, from the attempts' own times, that they raced.
func overlap(intents []outcome) results.Overlap {
	var o results.Overlap
	for _, out := range intents {
		in := inFlight(out.attempts)
		o.MaxInFlight = max(o.MaxInFlight, in)
		if in > 1 {
			o.IntentsOverlapped++
		}
		o.ReleaseSkewUS = max(o.ReleaseSkewUS, skew(out.attempts).Microseconds())
	}
	return o
}

// inFlight is the largest number of attempts between their first statement and their answer at the same time. Queueing for a
// pool connection is not in flight: nothing of that attempt has reached the database.
func inFlight(records []instance.Record) int {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, r := range records {
		if !r.Sent.IsZero() {
			edges = append(edges, edge{r.Sent, 1}, edge{r.Answered, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.step - b.step // an answer and a start at the same instant do not overlap
	})
	most, now := 0, 0
	for _, e := range edges {
		now += e.step
		most = max(most, now)
	}
	return most
}

// skew is the time between the first and the last attempt that left the gate.
func skew(records []instance.Record) time.Duration {
	if len(records) == 0 {
		return 0
	}
	byCall := func(a, b instance.Record) int { return a.Called.Compare(b.Called) }
	return slices.MaxFunc(records, byCall).Called.Sub(slices.MinFunc(records, byCall).Called)
}

// racing is the time in which attempts were under way, from the first that left the gate to the last that was answered, without the
// pauses from one intent to the next.
func racing(intents []outcome) (total time.Duration) {
	for _, out := range intents {
		if len(out.attempts) == 0 {
			continue
		}
		first, last := out.attempts[0].Called, out.attempts[0].Answered
		for _, r := range out.attempts {
			if r.Called.Before(first) {
				first = r.Called
			}
			if r.Answered.After(last) {
				last = r.Answered
			}
		}
		total += last.Sub(first)
	}
	return total
}
