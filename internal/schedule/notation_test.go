package schedule

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestNotationComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		item := rapid.Custom(func(t *rapid.T) Item {
			return Item{
				Action{rapid.IntRange(0, 25).Draw(t, "session"), rapid.SampledFrom([]Kind{Step, LostRequest, LostReply, Die}).Draw(t, "kind")},
				rapid.StringMatching(`[a-z0-9_.-]{1,8}`).Draw(t, "name"),
			}
		})
		s := Schedule(rapid.SliceOfN(item, 1, 12).Draw(t, "schedule"))
		long, err := Parse("v1 " + s.String())
		if err != nil || !slices.Equal(long, s) {
			t.Fatalf("%s came back as %v, %v", s, long, err)
		}
		short, err := Parse(s.Short())
		if err != nil || short.Short() != s.Short() || len(short) != len(s) {
			t.Fatalf("%s came back as %v, %v", s.Short(), short, err)
		}
	})
}

func TestParseIsStrict(t *testing.T) {
	for text, want := range map[string]string{
		"":            "names no step",
		"v1":          "names no step",
		"v2 AB":       "version v2",
		"A:":          "no name",
		"A:Check":     "no name",
		"1:check":     "no session",
		"A-B":         "no session",
		"a?":          "loses no reply",
		"a:capture~":  "loses no reply",
		"A:cap:ture":  "no name",
		"A:capture??": "no name",
		"AB!":         "no session",
	} {
		if s, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want an error with %q", text, s, err, want)
		}
	}
}

func TestReplay(t *testing.T) {
	world := func() *toy { return newToy(programs("rxwx", "rxwx"), 1) }
	for _, c := range []struct{ text, done string }{
		{"ABAB", "A:rx B:rx A:wx B:wx"},
		{"A:rx B:rx", "A:rx B:rx B:wx A:wx"}, // completed: no switch where none is needed
		{"A:rx a:wx", "A:rx a:wx A:rx A:wx B:rx B:wx"},
	} {
		s, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Replay(context.Background(), world(), s)
		if got := ScheduleOf(r).String(); err != nil || got != c.done {
			t.Errorf("%s: %s, %v; want %s", c.text, got, err, c.done)
		}
	}
}

func TestReplayRefusesTheImpossible(t *testing.T) {
	for text, want := range map[string]string{
		"A:wx":     "possible are A:rx, B:rx",
		"AAA":      "possible are B:rx",
		"AABBA":    "every session has ended",
		"a":        "possible are A:rx, B:rx",
		"A:rx C:a": "possible are A:wx, a:wx, B:rx",
	} {
		s, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		deaths := 0
		if text == "A:rx C:a" {
			deaths = 1
		}
		_, err = Replay(context.Background(), newToy(programs("rxwx", "rxwx"), deaths), s)
		var impossible *Impossible
		if !errors.As(err, &impossible) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", text, err, want)
		}
	}
}

func TestFullGoesFromCheapToDear(t *testing.T) {
	f := NewFull()
	ps := programs("rxrywxum", "lmrxwyum")
	seen := map[string]bool{}
	for f.More() {
		least := f.Least()
		r, err := f.Run(context.Background(), newToy(ps, 1))
		if err != nil {
			t.Fatal(err)
		}
		if r.Cost().Compare(least) < 0 {
			t.Fatalf("%s costs %v, and was announced to cost at least %v", ScheduleOf(r), r.Cost(), least)
		}
		if f.More() && f.Least().Compare(least) < 0 {
			t.Fatalf("the next run may cost %v, after one of at least %v", f.Least(), least)
		}
		if seen[ScheduleOf(r).String()] {
			t.Fatalf("%s ran twice", ScheduleOf(r))
		}
		seen[ScheduleOf(r).String()] = true
	}
}

func TestDivergenceIsNoticedAndTheRunCanBeTriedAgain(t *testing.T) {
	for name, s := range map[string]Search{"full": NewFull(), "dpor": NewDPOR(Depend)} {
		honest := func() *toy { return newToy(programs("rxwx", "rxwx"), 0) }
		if _, err := s.Run(context.Background(), honest()); err != nil {
			t.Fatal(err)
		}
		other := newToy(programs("rxwx", "rxwx"), 0)
		other.vars["x"] = 7
		runs := 1
		for range map[string]int{"full": 2, "dpor": 0}[name] { // until the run to come repeats a read
			if _, err := s.Run(context.Background(), honest()); err != nil {
				t.Fatal(err)
			}
			runs++
		}
		if _, err := s.Run(context.Background(), other); !errors.Is(err, ErrDiverged) {
			t.Errorf("%s: %v, want a divergence", name, err)
		}
		for ; s.More(); runs++ {
			if _, err := s.Run(context.Background(), honest()); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[string]int{"full": 6, "dpor": 4}[name]; runs != want {
			t.Errorf("%s: %d runs after the divergence, want %d", name, runs, want)
		}
	}
}
