package storage

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func moment(t *rapid.T, name string) time.Time {
	return time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, name)).UTC()
}

// Keys are what they say they are, the same for the same seed, and those of version 7 are ordered by their time.
func TestKeysAreUUIDs(t *testing.T) {
	for _, l := range Layouts() {
		text := regexp.MustCompile(map[int]string{
			4: `^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
			7: `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`,
		}[l.Version])
		rapid.Check(t, func(t *rapid.T) {
			seed, n, at := rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1<<30).Draw(t, "n"), moment(t, "at")
			k := l.keyOf(seed, n, at)
			if !text.MatchString(k.String()) || k != l.keyOf(seed, n, at) {
				t.Fatalf("%s: %s", l.Name, k)
			}
			if k == l.keyOf(seed, n+1, at) || k == l.keyOf(seed+1, n, at) {
				t.Fatalf("%s: %s twice", l.Name, k)
			}
		})
	}
}

func TestKeysOfVersion7BeginWithTheirTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		a, b := moment(t, "a"), moment(t, "b")
		if a.After(b) {
			a, b = b, a
		}
		ka, first := newKey(r, 7, a), firstKey(b)
		if kb := newKey(r, 7, b); bytes.Compare(first.Bytes[:], kb.Bytes[:]) > 0 {
			t.Fatalf("%s is below the first of its time, %s", kb, first)
		}
		if a.Before(b) && bytes.Compare(ka.Bytes[:], first.Bytes[:]) >= 0 {
			t.Fatalf("%s, made before, is not below %s", ka, first)
		}
	})
}

// The table holds one lifetime and one expired day, and there is a partition for every key and one to spare.
func TestCalendar(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lifetime := time.Duration(rapid.Int64Range(int64(time.Minute), int64(40*aDay)).Draw(t, "lifetime"))
		today := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "today"), 0)
		n := rapid.IntRange(1, 500).Draw(t, "keys")
		c := newCalendar(today, lifetime)
		if c.start != c.start.Truncate(aDay) || c.end().After(today) || c.end().Sub(c.cut()) != lifetime || c.cut().Sub(c.start) != aDay {
			t.Fatalf("%+v", c)
		}
		days := c.days()
		for i := range n {
			if at := c.at(i, n); at.Before(c.start) || !at.Before(c.end()) {
				t.Fatalf("key %d of %d at %s", i, n, at)
			}
		}
		if days[0] != c.start || days[len(days)-1].Before(c.end()) || days[len(days)-2].After(c.end()) {
			t.Fatalf("days %v", days)
		}
	})
}
