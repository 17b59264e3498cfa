package report

import (
	"slices"
	"strings"
	"testing"

	"idemlab/results"
)

// What waits for a table that somebody has locked waits for no key, and is not denied either; a table that grows is nobody's doing.
func TestLocksOtherThanTheKeysAreNamed(t *testing.T) {
	at, longest := 4.0, 9.0
	locked := results.Event{Event: "Lock/relation", Samples: 400, MaxWaiters: 16}
	grows := results.Event{Event: "Lock/extend", Samples: 378, MaxWaiters: 4}
	keyed := results.Event{Event: "Lock/transactionid", Samples: 7, MaxWaiters: 1}
	const named = "not counted: up to 16 at once at Lock/relation"
	for name, c := range map[string]struct {
		count  int
		events []results.Event
		want   []string
	}{
		"nothing":              {0, nil, []string{"none"}},
		"growth":               {0, []results.Event{grows, {Event: "IO/WALSync", Samples: 9, MaxWaiters: 2}}, []string{"none"}},
		"a table":              {0, []results.Event{locked}, []string{"none for a key", named}},
		"a key":                {1, []results.Event{keyed, grows}, []string{"1, p50 4.00 ms, max 9.00 ms"}},
		"a key behind a table": {1, []results.Event{keyed, locked}, []string{"1, p50 4.00 ms, max 9.00 ms", named}},
	} {
		r := results.Run{Strategy: "s", Waits: &results.Waits{Events: c.events}, Load: &results.Load{}}
		if r.Waits.Lock.Count = c.count; c.count > 0 {
			r.Waits.Lock.P50MS, r.Waits.Lock.MaxMS = &at, &longest
		}
		if got := lockWaits(r); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		var b strings.Builder
		autopsy(&b, []results.Run{r})
		if says, want := strings.Contains(b.String(), named), slices.Contains(c.want, named); says != want || !want && b.Len() > 0 {
			t.Errorf("%s: who waited for whom says %q", name, b.String())
		}
	}
}
