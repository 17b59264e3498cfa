package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"idemlab/results"
)

func gated(t *testing.T, outcomes ...results.GateOutcome) results.Document {
	t.Helper()
	d := reference(t, "insert-first")
	claim := 0
	d.Runs[0].ClaimExitCode = &claim
	for i, o := range outcomes {
		g := results.Gate{Expr: fmt.Sprintf("latency.p99_ms>25%d", i), Field: "latency.p99_ms", Op: ">", Limit: 250.0, Outcome: o, Value: 1234567.5}
		code := map[results.GateOutcome]int{results.GateFailed: 1, results.GateNotMeasured: 4}[o]
		if o == results.GateNotMeasured {
			g.Value, g.Reason = nil, "latency.n is 0, so there is no latency.p99_ms"
		}
		if d.Runs[0].ExitCode != 1 && code > 0 {
			d.Runs[0].ExitCode = code
		}
		d.Runs[0].Gates = append(d.Runs[0].Gates, g)
	}
	d.ExitCode = d.Runs[0].ExitCode
	return d
}

// A gate stands beside the verdict and never in its place, at any width.
func TestGatesInWords(t *testing.T) {
	for _, c := range []struct {
		outcomes   []results.GateOutcome
		line, last string
	}{
		{nil, "", "verdict: held, as expected"},
		{[]results.GateOutcome{results.GatePassed}, "gate latency.p99_ms>250 passed: 1234567.5", "verdict: held, as expected"},
		{[]results.GateOutcome{results.GateFailed}, "gate latency.p99_ms>250 failed: 1234567.5 > 250",
			"verdict: held, as expected; GATE FAILED: insert-first latency.p99_ms>250"},
		{[]results.GateOutcome{results.GateNotMeasured}, "gate latency.p99_ms>250 not measured: latency.n is 0",
			"verdict: held, as expected; gate not measured: insert-first latency.p99_ms>250"},
		{[]results.GateOutcome{results.GateNotMeasured, results.GateFailed}, "gate latency.p99_ms>251 failed",
			"verdict: held, as expected; GATE FAILED: insert-first latency.p99_ms>251; gate not measured: insert-first latency.p99_ms>250"},
	} {
		for _, width := range []int{60, 120} {
			d := gated(t, c.outcomes...)
			out := text(t, d, Style{Width: width})
			if !strings.Contains(out, c.line) || lastLine(out) != c.last {
				t.Errorf("%v at %d columns:\n%s", c.outcomes, width, out)
			}
			if coloured := text(t, d, Style{Width: width, Color: true}); strip(coloured) != out {
				t.Errorf("colour changes the words:\n%s", coloured)
			}
		}
	}
}

func TestGatesBesideABrokenClaim(t *testing.T) {
	d := gated(t, results.GateFailed)
	claim := 1
	d.Verdict, d.Runs[0].Verdict, d.Runs[0].ClaimExitCode = results.Violated, results.Violated, &claim
	if last := lastLine(text(t, d, Style{Width: 120})); last !=
		"verdict: AGAINST EXPECTATION: insert-first violated; GATE FAILED: insert-first latency.p99_ms>250" {
		t.Error(last)
	}
	d.ExitCode, d.Runs[0].ExitCode, d.Runs[0].Status = 130, 130, results.Aborted
	d.Runs[0].Gates[0].Outcome = results.GateNotMeasured
	if last := lastLine(text(t, d, Style{Width: 120})); last != "verdict: interrupted; what was measured until then is violated" {
		t.Error(last)
	}
}

// Many gates do not drown the last line.
func TestTheLastLineNamesAFewGates(t *testing.T) {
	d := gated(t, results.GateFailed, results.GateFailed, results.GateFailed, results.GateFailed, results.GateFailed, results.GateFailed)
	if last := lastLine(text(t, d, Style{Width: 120})); !strings.HasSuffix(last, "latency.p99_ms>253, 2 more") {
		t.Error(last)
	}
}

func TestGatesInJUnit(t *testing.T) {
	d := gated(t, results.GatePassed, results.GateFailed, results.GateNotMeasured)
	var b bytes.Buffer
	if err := JUnit(&b, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`tests="4" failures="1" errors="1"`,
		`name="race, read committed" time=`,
		`name="race, read committed, gate latency.p99_ms&gt;250"`,
		`<failure message="failed: 1234567.5 &gt; 250">field: latency.p99_ms&#xA;found: 1234567.5&#xA;limit: fails where &gt; 250&#xA;again: idemlab race --strategy=insert-first`,
		`<error message="not measured: latency.n is 0, so there is no latency.p99_ms">field: latency.p99_ms&#xA;found: nothing: latency.n is 0`,
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, b.String())
		}
	}
}

// One strategy with many settings is many runs, which must be told apart.
func TestGatesOfOneStrategyWithManySettings(t *testing.T) {
	d := gated(t, results.GateFailed)
	other := d.Runs[0]
	settings := *other.Settings
	settings.Pool, other.Settings = 7, &settings
	d.Runs = append(d.Runs, other)
	if out := text(t, d, Style{Width: 120}); !strings.Contains(out, "pool 7, acquirer 50ms: gate latency") || !strings.Contains(out, "pool 50, acquirer 50ms: gate latency") {
		t.Error(out)
	}
	var b bytes.Buffer
	if err := JUnit(&b, d); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, "pool 7, acquirer 50ms, gate") || !strings.Contains(s, `pool 50, acquirer 50ms" time=`) {
		t.Error(s)
	}
}

func TestGatesInMarkdown(t *testing.T) {
	d := gated(t, results.GatePassed, results.GateFailed)
	d.Runs = append(d.Runs, reference(t, "check-then-act").Runs...) // one without
	out, err := Markdown(d)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "| gates") || !strings.Contains(out, "latency.p99_ms>250 passed: 1234567.5<br>latency.p99_ms>251 failed: 1234567.5 > 250") {
		t.Error(out)
	}
	for line := range strings.Lines(out) {
		if strings.Count(line, "|") != 4 {
			t.Errorf("%q", line)
		}
	}
}
