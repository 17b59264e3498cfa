package race

import (
	"testing"
	"time"

	"idemlab/internal/instance"
	"idemlab/results"
)

func TestInFlightCountsFromTheFirstStatement(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1, 0).Add(time.Duration(ms) * time.Millisecond) }
	rec := func(called, sent, answered int) instance.Record {
		return instance.Record{Called: at(called), Sent: at(sent), Answered: at(answered)}
	}
	for name, c := range map[string]struct {
		records []instance.Record
		want    int
	}{
		"none":                         {nil, 0},
		"one after another":            {[]instance.Record{rec(0, 0, 10), rec(0, 10, 20), rec(0, 20, 30)}, 1},
		"two at once":                  {[]instance.Record{rec(0, 0, 10), rec(0, 9, 20), rec(0, 20, 30)}, 2},
		"queueing is not in flight":    {[]instance.Record{rec(0, 0, 50), rec(0, 60, 70)}, 1},
		"one that never sent anything": {[]instance.Record{rec(0, 0, 50), {Called: at(0), Answered: at(60)}}, 1},
		"nested":                       {[]instance.Record{rec(0, 0, 100), rec(0, 10, 20), rec(0, 15, 30), rec(0, 40, 50)}, 3},
	} {
		if got := inFlight(c.records); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if s := skew([]instance.Record{rec(3, 0, 0), rec(1, 0, 0), rec(2, 0, 0)}); s != 2*time.Millisecond {
		t.Errorf("skew %v", s)
	}
}

// Attempts have met where they did in half of the intents, and not where there was nothing to meet at.
func TestMet(t *testing.T) {
	raced := func(overlapped, intents int) results.Run {
		return results.Run{Counts: &results.Counts{Intents: intents}, Overlap: &results.Overlap{IntentsOverlapped: overlapped}}
	}
	for name, c := range map[string]struct {
		run  results.Run
		want bool
	}{
		"in all of them":    {raced(5, 5), true},
		"in half of them":   {raced(2, 4), true},
		"in fewer":          {raced(2, 5), false},
		"in none":           {raced(0, 5), false},
		"no intent":         {raced(0, 0), false},
		"nothing counted":   {results.Run{Overlap: &results.Overlap{}}, false},
		"nothing looked at": {results.Run{Counts: &results.Counts{Intents: 1}}, false},
	} {
		if got := Met(c.run); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
