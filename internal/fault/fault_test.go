package fault

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var statements = []string{"claim", "read", "take-over", "record", "begin", "commit"}

func anyFault(t *rapid.T) Fault {
	step := rapid.SampledFrom(append(append(steps(), All), statements...)).Draw(t, "step")
	f := Fault{Step: step}
	if step != All {
		f.Kind = rapid.SampledFrom(kindsOf(step)).Draw(t, "kind")
	}
	if f.Kind == Kill {
		f.Place = rapid.SampledFrom([]string{"before-", "after-"}).Draw(t, "side") + rapid.SampledFrom(append(statements, Capture)).Draw(t, "place")
	}
	switch {
	case f.Kind == Restart:
		f.When.Nth = rapid.IntRange(1, 1<<30).Draw(t, "nth")
	case step == All || rapid.Bool().Draw(t, "share"):
		f.When.Percent = float64(rapid.IntRange(1, 100_000).Draw(t, "thousandths")) / 1000
	case rapid.Bool().Draw(t, "number"):
		f.When.Nth = rapid.IntRange(1, 1<<30).Draw(t, "nth")
	}
	return f
}

// What is typed is what is meant: every fault reads back as itself.
func TestFaultsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := anyFault(t)
		got, err := Parse(f.String(), statements)
		if err != nil || got != f {
			t.Fatalf("%q: %+v, %v; it was %+v", f, got, err, f)
		}
	})
}

// Whatever is typed, the answer is a fault that can be typed again, or a reason.
func TestNothingTypedPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[a-z-]{0,10}[:@,%0-9.a-z-]{0,20}`).Draw(t, "text")
		f, err := Parse(text, statements)
		if err != nil {
			return
		}
		if again, err := Parse(f.String(), statements); err != nil || again != f {
			t.Fatalf("%q is %q, which is %+v, %v", text, f, again, err)
		}
	})
}

func TestUsageErrorsSayWhatToType(t *testing.T) {
	for text, say := range map[string]string{
		"":                            "there are: request:lost",
		"charge:lost":                 "STEP is one of claim, read",
		"capture:lost":                "say capture:request-lost|reply-lost",
		"capture":                     `no fault ""`,
		"answer:lost@0":               "number from 1",
		"answer:lost@0%":              "more than 0%",
		"answer:lost@101%":            "at most 100%",
		"answer:lost@NaN%":            "more than 0%",
		"answer:lost@":                "nothing stands behind",
		"service:kill@after-capture,": "nothing stands behind",
		"service:kill":                "before-STEP",
		"service:kill@3":              "before-STEP",
		"service:kill@after-lunch":    "capture or one of claim",
		"service:kill@after-claim,x":  "no occurrence",
		"postgres:restart":            "postgres:restart@20",
		"postgres:restart@5%":         "postgres:restart@20",
		"all":                         "all@5%",
		"all:kill@5%":                 "all has no kind",
	} {
		if _, err := Parse(text, statements); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v; should say %q", text, err, say)
		}
	}
}

// Each intent meets its faults at the same visits, whatever the others do and in whatever order they come.
func TestThePlanDependsOnTheSeedAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var faults []Fault
		for range rapid.IntRange(1, 4).Draw(t, "faults") {
			if f := anyFault(t); f.Step != All {
				faults = append(faults, f)
			}
		}
		seed := rapid.Uint64().Draw(t, "seed")
		var visits []visit
		for i := range 5 {
			for _, point := range NewPlan(seed, faults).Points() {
				for range 3 {
					visits = append(visits, visit{point, fmt.Sprint(i)})
				}
			}
		}
		walk := func(order []visit) (map[string]bool, []int) {
			p, n, hit := NewPlan(seed, faults), map[visit]int{}, map[string]bool{}
			for _, v := range order {
				n[v]++
				f, ok := p.Reach(v.point, v.intent)
				hit[fmt.Sprint(v, n[v])] = ok && f.Point() == v.point
			}
			return hit, p.Struck()
		}
		a, struckA := walk(visits)
		b, struckB := walk(rapid.Permutation(visits).Draw(t, "order"))
		if fmt.Sprint(a) != fmt.Sprint(b) || !slices.Equal(struckA, struckB) {
			t.Fatalf("%v\n%v", a, b)
		}
	})
}

func TestSharesAreShares(t *testing.T) {
	p := NewPlan(1, []Fault{{Step: Answer, Kind: Lost, When: Occurrence{Percent: 5}}, {Step: Request, Kind: Lost}})
	for i := range 10_000 {
		p.Reach(Answer, fmt.Sprint(i))
		for range 3 {
			p.Reach(Request, fmt.Sprint(i))
		}
	}
	if n := p.Struck(); n[0] < 400 || n[0] > 600 || n[1] != 10_000 {
		t.Errorf("struck %v of 10000", n)
	}
	p.Off()
	if _, ok := p.Reach(Request, "new"); ok {
		t.Error("struck when off")
	}
}

func TestAllIsEveryFaultButARestart(t *testing.T) {
	all := Expand([]Fault{{Step: All, When: Occurrence{Percent: 5}}, {Step: Postgres, Kind: Restart, When: Occurrence{Nth: 3}}}, []string{"claim", "record"})
	kinds := map[Kind]int{}
	for _, f := range all {
		kinds[f.Kind]++
		if f.Kind != Restart && f.When.Percent != 5 {
			t.Errorf("%v", f)
		}
	}
	for k, n := range map[Kind]int{Lost: 2, RequestLost: 1, ReplyLost: 1, Late: 1, Decline: 1, ErrorBefore: 1, ErrorAfter: 1, Kill: 1, AckLost: 2, Restart: 1} {
		if kinds[k] != n {
			t.Errorf("%d of %s", kinds[k], k)
		}
	}
}
