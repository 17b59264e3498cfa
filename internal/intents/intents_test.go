package intents

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// The same seed and number make the same intent anywhere; keys are UUIDs of version 4, and no two intents share one.
func TestIntentsAreMadeOfSeedAndNumber(t *testing.T) {
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	rapid.Check(t, func(t *rapid.T) {
		seed, n := rapid.Uint64().Draw(t, "seed"), rapid.Uint64Range(0, 1<<40).Draw(t, "number")
		a, r := Rand(seed, n)
		if a != New(seed, n) || !uuid.MatchString(a.Key) || !uuid.MatchString(Key(r)) {
			t.Fatalf("%+v", a)
		}
		for _, b := range []string{New(seed, n+1).Key, New(seed+1, n).Key, Key(r)} {
			if a.Key == b {
				t.Fatalf("%s twice", b)
			}
		}
	})
}
