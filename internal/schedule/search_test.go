package schedule

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestReducedSearchSeesEveryClassOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom(strings.Fields("rx ry wx wy lm sm um ln sn un ?x"))
		n := rapid.IntRange(2, 3).Draw(t, "sessions")
		var ps [][]toyOp
		for range n {
			ps = append(ps, program(strings.Join(rapid.SliceOfN(op, 1, 5-n/3-n/2).Draw(t, "program"), "")))
		}
		deaths := rapid.IntRange(0, 1).Draw(t, "deaths")
		compare(t, ps, deaths)
	})
}

// The same with faults in plenty, where there are not too many orders to make them all.
func TestReducedSearchSeesEveryClassOfFaults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		op := rapid.SampledFrom(strings.Fields("rx wx ry lm sm um ?x c1 c1"))
		var ps [][]toyOp
		for range 2 {
			ps = append(ps, program(strings.Join(rapid.SliceOfN(op, 1, 4).Draw(t, "program"), "")))
		}
		deaths, losses := rapid.IntRange(0, 3).Draw(t, "deaths"), rapid.IntRange(0, 2).Draw(t, "losses")
		world := func() *toy { w := newToy(ps, deaths); w.losses = losses; return w }
		full := NewFull()
		for n := 0; full.More(); n++ {
			if n == 3000 {
				return // too many: another program
			}
			if _, err := full.Run(context.Background(), world()); err != nil {
				t.Fatal(err)
			}
		}
		compareWorlds(t, world)
	})
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

func compare(t failer, ps [][]toyOp, deaths int) (full, reduced explored) {
	t.Helper()
	return compareWorlds(t, func() *toy { return newToy(ps, deaths) })
}

func compareWorlds(t failer, world func() *toy) (full, reduced explored) {
	t.Helper()
	full, err := explore(NewFull(), Depend, world)
	if err != nil {
		t.Fatalf("full: %v", err)
	}
	if math.Abs(full.chance-1) > 1e-9 { // each order is walked with one chance, and there are no others
		t.Fatalf("the chances of %d orders add up to %v", full.runs, full.chance)
	}
	reduced, err = explore(NewDPOR(Depend), Depend, world)
	if err != nil {
		t.Fatalf("dpor: %v", err)
	}
	if d := differ(full, reduced); d != "" {
		t.Fatalf("%s", d)
	}
	if reduced.runs != len(full.classes) {
		t.Fatalf("%d runs for %d classes", reduced.runs, len(full.classes))
	}
	return full, reduced
}

// Whoever waits for two is let go by the second of them to give back, so that their order matters though they share nothing.
func TestTwoHoldersOfWhatAThirdWaitsFor(t *testing.T) {
	compare(t, programs("smum", "smum", "lmwx"), 0)
	compare(t, programs("smum", "smum", "lmum"), 1)
}

func TestFullCountsEveryOrder(t *testing.T) {
	for _, c := range []struct {
		deaths        int
		full, classes int
		programs      [][]toyOp
	}{
		{0, 20, 1, programs("rxrxrx", "ryryry")}, // C(6,3) orders, nothing shared
		{0, 6, 6, programs("wxwx", "wxwx")},
		{0, 6, 2, programs("rxwy", "rxwy")},
		{0, 4, 4, programs("lmum", "lmum")}, // no order where one goes on while it waits
	} {
		full, _ := compare(t, c.programs, c.deaths)
		if full.runs != c.full || len(full.classes) != c.classes {
			t.Errorf("%v: %d orders in %d classes, want %d in %d", c.programs, full.runs, len(full.classes), c.full, c.classes)
		}
	}
}

func TestAWrongRelationIsCaught(t *testing.T) {
	without := func(m, n Mode) Relation {
		strip := func(f Footprint, drop Mode) (out Footprint) {
			for _, a := range f {
				out = append(out, Access{a.Object, a.Mode &^ drop})
			}
			return out
		}
		return func(f, g Footprint) bool {
			return Depend(strip(f, m), strip(g, n)) && Depend(strip(f, n), strip(g, m))
		}
	}
	for name, c := range map[string]struct {
		rel      Relation
		programs [][]toyOp
	}{
		"readers do not see commits": {without(Read, Read), programs("rxwy", "wxry")},
		"locks do not exclude":       {without(Lock, Lock), programs("lmrxwxum", "lmrxwxum")},
		"nothing depends":            {func(Footprint, Footprint) bool { return false }, programs("wxwx", "wxwx")},
	} {
		world := func() *toy { return newToy(c.programs, 0) }
		full, err := explore(NewFull(), c.rel, world)
		if err != nil {
			t.Fatal(err)
		}
		reduced, err := explore(NewDPOR(c.rel), c.rel, world)
		if err != nil {
			t.Fatal(err)
		}
		if differ(full, reduced) == "" {
			t.Errorf("%s: the cross-check found nothing to say", name)
		}
	}
}
