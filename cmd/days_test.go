package cmd

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestDays(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"24h": 24 * time.Hour, "7d": 7 * aDay, "1d12h": 36 * time.Hour, "90s": 90 * time.Second, "0d": 0, "1d0h": aDay,
	} {
		var d days
		if err := d.Set(text); err != nil || time.Duration(d) != want {
			t.Errorf("%q: %v, %v", text, time.Duration(d), err)
		}
	}
	for _, text := range []string{"", "d", "1", "-1d", "-1h", "1.5d", "12h1d", "1dd", "4000d", "99999999999d", "1d-1h", "3660d1s", "tomorrow"} {
		var d days
		if err := d.Set(text); err == nil {
			t.Errorf("took %q for %v", text, time.Duration(d))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := days(rapid.Int64Range(0, int64(mostDays*aDay)).Draw(t, "time"))
		var again days
		if err := again.Set(d.String()); err != nil || again != d {
			t.Fatalf("%v is written %q, which is %v (%v)", time.Duration(d), d.String(), time.Duration(again), err)
		}
	})
}
