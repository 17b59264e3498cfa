package explore

import (
	"strings"
	"testing"
	"time"
)

// Each end that comes before a search's own is told in words.
func TestACutInWords(t *testing.T) {
	for cut, want := range map[string]string{
		"sampled":     "7 were drawn at random, and one may have come up more than once",
		"schedules":   "the search was to end after 9 of them",
		"budget":      "the time was up after 7 of them",
		"enough":      "what was looked for was found after 7 of them",
		"interrupted": "the search was interrupted after 7 of them",
	} {
		r := Result{Cut: cut, Schedules: 7, Options: Options{MaxSchedules: 9}}
		if got := r.cutInWords(); got != want {
			t.Errorf("%s: %q, want %q", cut, got, want)
		}
	}
	for probes, want := range map[int]string{
		0: "the time was up before the first of them; preparing took it: give more than --budget 2s",
		4: "the time was up before the first of them; preparing, and looking for a wrong one first (4 tries), took it: give more than --budget 2s",
	} {
		r := Result{Cut: "budget", Probes: probes, Options: Options{Budget: 2 * time.Second}}
		if got := r.cutInWords(); got != want {
			t.Errorf("no schedule and %d probes: %q, want %q", probes, got, want)
		}
	}
}

// The bounds do not let a reader believe that every client comes as often as it may.
func TestBoundsSayWhenAClientComesAgain(t *testing.T) {
	for each, want := range map[int]string{
		1: "2 clients, 1 attempt each, 0 crashes",
		2: "2 clients, 2 attempts each (the second after a death or an error), 0 crashes",
		3: "2 clients, 3 attempts each (each after the first after a death or an error), 0 crashes",
	} {
		if got := (Result{Options: Options{Sessions: 2, AttemptsPerSession: each}}).Bounds(); !strings.HasPrefix(got, want) {
			t.Errorf("%d: %q, want %q", each, got, want)
		}
	}
}
