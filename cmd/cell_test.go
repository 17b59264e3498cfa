package cmd

import (
	"context"
	"errors"
	"testing"
	"time"

	"idemlab/results"
)

// What chance has kept apart is raced again, and what comes of that counts; nothing else is, nor when there is no time left.
func TestACellIsRacedUntilItsAttemptsMeet(t *testing.T) {
	raced := func(overlapped int, v results.Verdict) results.Run {
		return results.Run{Verdict: v, Counts: &results.Counts{Intents: 4}, Overlap: &results.Overlap{IntentsOverlapped: overlapped}}
	}
	apart, met := raced(0, results.Inconclusive), raced(4, results.Held)
	lost, now := errors.New("lost"), time.Now()
	for name, c := range map[string]struct {
		runs  []results.Run // one for each race; those after it are like the last
		err   error         // of each
		until time.Time
		ended bool // by Ctrl-C, in the first race
		want  int  // races
	}{
		"they meet":                       {runs: []results.Run{met}, want: 1},
		"they meet the second time":       {runs: []results.Run{apart, met}, want: 2},
		"they meet the last time":         {runs: []results.Run{apart, apart, met}, want: 3},
		"they never meet":                 {runs: []results.Run{apart}, want: 3},
		"it counted nothing":              {runs: []results.Run{{Verdict: results.Inconclusive}, met}, want: 2},
		"undecided, and they met":         {runs: []results.Run{raced(4, results.Inconclusive), met}, want: 1},
		"caught, though few met":          {runs: []results.Run{raced(1, results.Violated), met}, want: 1},
		"it could not be raced":           {runs: []results.Run{apart}, err: lost, want: 1},
		"interrupted":                     {runs: []results.Run{apart}, ended: true, want: 1},
		"the time is up after the first":  {runs: []results.Run{apart}, until: now, want: 1},
		"there is time for all of it":     {runs: []results.Run{apart}, until: now.Add(time.Hour), want: 3},
		"they meet, and the time is up":   {runs: []results.Run{met}, until: now, want: 1},
		"there is time, and they do meet": {runs: []results.Run{apart, met}, until: now.Add(time.Hour), want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var last results.Run
			n := 0
			got, err := meet(ctx, c.until, func() (results.Run, error) {
				last = c.runs[min(n, len(c.runs)-1)]
				n++
				if c.ended {
					cancel()
				}
				return last, c.err
			})
			if n != c.want || !errors.Is(err, c.err) || got.Verdict != last.Verdict || got.Counts != last.Counts {
				t.Errorf("%d races, want %d; %+v, %v", n, c.want, got, err)
			}
		})
	}
}
