package race

import (
	"testing"
	"time"

	"idemlab/internal/instance"
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
