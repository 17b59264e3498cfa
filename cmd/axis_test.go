package cmd

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idemlab/internal/acquirer"
)

// What is typed for an axis becomes the values that its flag would be typed with, in that order.
func TestAxisReadsListsAndRanges(t *testing.T) {
	for typed, want := range map[string]string{
		"attempts=2,5,50":                     "2 5 50",
		"attempts=7":                          "7",
		"attempts=2..5":                       "2 3 4 5",
		"attempts=2..12+5":                    "2 7 12",
		"attempts=2..11+5":                    "2 7",
		"attempts=1,2..9*2,100":               "1 2 4 8 100",
		"pool=3..3":                           "3",
		"instances=1,4":                       "1 4",
		"acquirer-latency=0,1500us,2s":        "0s 1.5ms 2s",
		"acquirer-latency=1ms..8ms*2":         "1ms 2ms 4ms 8ms",
		"acquirer-latency=0..50ms+25ms":       "0s 25ms 50ms",
		"acquirer-latency=uniform:1ms,3ms,5s": "uniform:1ms,3ms 5s",
		"acquirer-latency=5s,exp:50ms":        "5s exp:50ms",
		"isolation=Read-Committed,serializable,repeatable_read": "read committed serializable repeatable read",
		"attempts=9223372036854775806..9223372036854775807+5":   "9223372036854775806", // no step beyond what a number holds
		"attempts=5..9223372036854775807*4611686018427387904":   "5",
	} {
		ax, err := axisOf(typed)
		if err != nil {
			t.Errorf("%s: %v", typed, err)
			continue
		}
		var labels []string
		for _, v := range ax.values {
			labels = append(labels, v.label)
		}
		if name, _, _ := strings.Cut(typed, "="); ax.name != name || strings.Join(labels, " ") != want {
			t.Errorf("%s: %s with %v, want %s", typed, ax.name, labels, want)
		}
	}
}

// What cannot be meant is refused with what to say instead.
func TestAxisRefuses(t *testing.T) {
	for typed, want := range map[string]string{
		"":                              "there are: attempts, acquirer-latency, pool, instances, isolation",
		"lease=1s":                      "there are: attempts",
		"attempts":                      "say attempts=2,5,10,20",
		"attempts=":                     "say attempts=2,5,10,20",
		"isolation=":                    "say isolation=read-committed,serializable",
		"attempts=0":                    "say 1 or more",
		"attempts=2,":                   "say 1 or more",
		"attempts=-2":                   "say 1 or more",
		"attempts=1e3":                  "say 1 or more",
		"attempts=2,3,2":                "attempts=2 stands there twice",
		"attempts=2..4,3":               "attempts=3 stands there twice",
		"acquirer-latency=0,0s":         "acquirer-latency=0s stands there twice",
		"attempts=5..2":                 "smaller end first",
		"attempts=2..":                  "no range",
		"attempts=..5":                  "say 1 or more",
		"attempts=2..8+0":               "say 1 or more",
		"attempts=2..8*1":               "say 2 or more",
		"attempts=2..8*x":               "say 2 or more",
		"attempts=1..101":               "more than 100 values",
		"acquirer-latency=1ms..5ms":     "say its step, as in 1ms..5ms+10ms",
		"acquirer-latency=0s..5ms*2":    "starts above 0",
		"acquirer-latency=1ms..5ms+0":   "say its step",
		"acquirer-latency=1ms..5ms*2ms": "say 2 or more",
		"acquirer-latency=-1ms":         "no latency",
		"acquirer-latency=uniform:1ms":  "no latency",
		"acquirer-latency=soon..5ms*2":  "invalid duration",
		"isolation=chaos":               "say one of read committed",
	} {
		if ax, err := axisOf(typed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, error %v, want one with %q", typed, ax.values, err, want)
		}
	}
}

// A value does to a race's flags what its own flag does, and nothing else.
func TestAxisSetsItsFlag(t *testing.T) {
	for typed, want := range map[string]func(*raceFlags){
		"attempts=7":           func(f *raceFlags) { f.attempts = 7 },
		"pool=7":               func(f *raceFlags) { f.pool = 7 },
		"instances=7":          func(f *raceFlags) { f.instances = 7 },
		"acquirer-latency=7ms": func(f *raceFlags) { f.latency = acquirer.Fixed(7 * time.Millisecond) },
		"isolation=serializable": func(f *raceFlags) {
			f.common.isolation = "serializable"
		},
	} {
		ax, err := axisOf(typed)
		if err != nil {
			t.Fatal(err)
		}
		got, expected := raceFlags{}, raceFlags{}
		ax.values[0].apply(&got)
		want(&expected)
		if got.attempts != expected.attempts || got.pool != expected.pool || got.instances != expected.instances ||
			got.latency != expected.latency || got.common.isolation != expected.common.isolation {
			t.Errorf("%s: %+v", typed, got)
		}
	}
	if len(variables()) != 5 {
		t.Error("a variable is not tested here")
	}
}

// A range starts where it says, rises, stays within its ends, and could not go one further.
func TestRanges(t *testing.T) {
	read := func(s string) (int64, error) { return strconv.ParseInt(s, 10, 64) }
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.Int64Range(1, 1000).Draw(t, "first")
		last := first + rapid.Int64Range(0, 100_000).Draw(t, "more")
		by := rapid.Int64Range(2, 5000).Draw(t, "by")
		times := rapid.Bool().Draw(t, "times")
		op, next := "+", func(v int64) int64 { return v + by }
		if times {
			op, next = "*", func(v int64) int64 { return v * by }
		}
		text := strconv.FormatInt(first, 10) + ".." + strconv.FormatInt(last, 10) + op + strconv.FormatInt(by, 10)
		all, err := spread(text, 1, read)
		if err != nil {
			if !times && (last-first)/by >= mostValues {
				return
			}
			t.Fatalf("%s: %v", text, err)
		}
		if all[0] != first || !slices.IsSorted(all) || all[len(all)-1] > last || next(all[len(all)-1]) <= last || len(all) > mostValues {
			t.Fatalf("%s: %v", text, all)
		}
		for i := range all[1:] {
			if all[i+1] != next(all[i]) {
				t.Fatalf("%s: %v", text, all)
			}
		}
	})
}
