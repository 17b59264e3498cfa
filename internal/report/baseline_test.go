package report

import (
	"bytes"
	"strings"
	"testing"

	"idemlab/results"
)

func ptr[T any](v T) *T { return &v }

// againstOld is a run of insert-first with one of everything that a comparison can say.
func againstOld(t *testing.T) results.Document {
	t.Helper()
	d := reference(t, "insert-first")
	r := &d.Runs[0]
	r.Baseline = &results.Baseline{
		Source: "old.json", OldRuns: 3, NewRuns: 1, TolerancePercent: 10, Outcome: results.Regression,
		Differences: []results.Difference{{Field: "tool.version", Old: "0.1.0", New: "0.2.0"}},
		Changes: []results.Change{
			{Field: "verdict", Old: "held", New: "violated", Regression: true}, {Field: "exit_code", Old: "1", New: "0"},
		},
		Metrics: []results.Metric{
			{Field: "latency.p50_ms", Samples: "runs", OldN: 3, NewN: 1, OldMedian: ptr(2.5), NewMedian: ptr(2.6), Outcome: results.TooFew, Reason: "4 and 4 would do"},
			{Field: "latency.p99_ms", Samples: "runs", OldN: 9, NewN: 8, OldMedian: ptr(50.0), NewMedian: ptr(99.0),
				Ratio: ptr(1.98), RatioLow: ptr(1.9), RatioHigh: ptr(2.05), Outcome: results.Regressed},
			{Field: "rounds.duplicate_captures", Samples: "rounds", OldN: 10, NewN: 10, OldMedian: ptr(0.0), NewMedian: ptr(1234.0),
				RatioLow: ptr(1.5), Outcome: results.Worse},
			{Field: "load.seconds.attempts", Samples: "blocks of 3 s", OldN: 10, NewN: 10, OldMedian: ptr(900.0), NewMedian: ptr(905.0),
				Ratio: ptr(1.01), RatioLow: ptr(0.97), RatioHigh: ptr(1.04), Outcome: results.NoDifference},
		},
	}
	claim := 0
	r.ClaimExitCode, r.ExitCode, d.ExitCode = &claim, 1, 1
	return d
}

func TestBaselineInWords(t *testing.T) {
	out := text(t, againstOld(t), Style{Width: 120})
	for _, want := range []string{
		"compared with old.json; a number is a regression where it is worse by more than 10 %",
		"insert-first: race, read committed, 50 attempts at 20 intents, 1 instance, pool 50, acquirer 50ms",
		"│ latency.p50_ms            │ 2.50 ms │ 2.60 ms │ ~                        │ 3 and 1 runs              │ too few       │",
		"│ latency.p99_ms            │ 50.0 ms │ 99.0 ms │ 1.98 (1.90 to 2.05)      │ 9 and 8 runs              │ REGRESSION    │",
		"│ 1,234   │ more than 1.50 ",
		"│ ~ 1.01 (0.97 to 1.04) ",
		"latency.p50_ms: too few samples: 4 and 4 would do\n",
		"tool.version was 0.1.0 and is 0.2.0\n",
		"verdict was held and is violated: REGRESSION\n",
		"exit_code was 1 and is 0\n",
	} {
		if !strings.Contains(strings.Join(strings.Fields(out), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if last := lastLine(out); last != "verdict: held, as expected; REGRESSION: insert-first verdict violated, insert-first latency.p99_ms 1.98 times" {
		t.Error(last)
	}
}

// What fits no table is a list, and colour adds nothing to the words.
func TestBaselineFits(t *testing.T) {
	for _, width := range []int{40, 80, 200} {
		d := againstOld(t)
		out, coloured := text(t, d, Style{Width: width}), text(t, d, Style{Width: width, Color: true})
		if strip(coloured) != out {
			t.Errorf("at %d columns:\n%s", width, coloured)
		}
		for line := range strings.Lines(out) {
			if strings.HasPrefix(line, "│") && widest(line) > width {
				t.Errorf("at %d columns: %s", width, line)
			}
		}
		if !strings.Contains(out, "latency.p99_ms") || !strings.Contains(out, "REGRESSION") {
			t.Errorf("at %d columns:\n%s", width, out)
		}
	}
}

func comparison(t *testing.T, d results.Document) string {
	t.Helper()
	var b bytes.Buffer
	if err := Comparison(&b, d, Style{Width: 120}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestComparisonEndsWithItsVerdict(t *testing.T) {
	d := againstOld(t)
	d.Skipped = []results.Skipped{{Strategy: "merge", Reason: "race, read committed: only in the older"}}
	out := comparison(t, d)
	if last := lastLine(out); last != "verdict: REGRESSION in 1 of 1 kind of run compared: insert-first verdict violated, insert-first latency.p99_ms 1.98 times" {
		t.Error(last)
	}
	if !strings.Contains(out, "merge: not compared (race, read committed: only in the older)\n") || strings.Contains(out, "held, as expected") {
		t.Error(out)
	}
	d.Runs[0].Baseline.Outcome, d.Runs[0].Baseline.Changes, d.Runs[0].Baseline.Metrics = results.NoRegression, nil, nil
	if out = comparison(t, d); lastLine(out) != "verdict: no regression in 1 kind of run compared" || !strings.Contains(out, "no regression against 3 earlier runs") {
		t.Error(out)
	}
	d.Runs[0].Baseline.Outcome, d.Runs[0].Baseline.Reason = results.NotCompared, "there is no earlier run of it"
	if out = comparison(t, d); lastLine(out) != "verdict: inconclusive: nothing could be compared" || !strings.Contains(out, "not compared: there is no earlier run of it") {
		t.Error(out)
	}
	if last := lastLine(text(t, d, Style{Width: 120})); !strings.HasSuffix(last, "; not compared: insert-first") {
		t.Error(last)
	}
}

func TestBaselineInJUnitAndMarkdown(t *testing.T) {
	d := againstOld(t)
	var b bytes.Buffer
	if err := JUnit(&b, d); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, `tests="2" failures="1" errors="0" skipped="0"`) || !strings.Contains(s, `name="race, read committed, baseline old.json"`) ||
		!strings.Contains(s, `<failure message="regression, insert-first verdict violated, insert-first latency.p99_ms 1.98 times">`) {
		t.Error(s)
	}
	out, err := Markdown(d)
	if err != nil || !strings.Contains(out, "regression<br>insert-first verdict violated<br>insert-first latency.p99_ms 1.98 times") {
		t.Error(out, err)
	}
	d.Runs[0].Baseline.Outcome, d.Runs[0].Baseline.Changes, d.Runs[0].Baseline.Metrics = results.NotCompared, nil, nil
	d.ExitCode, d.Runs[0].ExitCode = 0, 0
	b.Reset()
	if err := JUnit(&b, d); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.Contains(s, `failures="0" errors="0" skipped="1"`) || !strings.Contains(s, "<skipped message=") {
		t.Error(s)
	}
}

// A document of different engines, as comparing folders makes one, has no figures to stand side by side.
func TestRunsOfDifferentEngines(t *testing.T) {
	d := reference(t, "insert-first")
	search := d.Runs[0]
	search.Engine, search.Settings, search.Explore = "explore", nil, &results.Explore{Coverage: "exhaustive"}
	for _, runs := range [][]results.Run{{d.Runs[0], search}, {search, d.Runs[0]}} {
		d.Runs = runs
		if out := text(t, d, Style{Width: 120}); strings.Contains(out, "┌") || !strings.Contains(out, "orders run") || !strings.Contains(out, "acquirer told") {
			t.Error(out)
		}
		out, err := Markdown(d)
		if err != nil || strings.Count(out, "| verdict") != 2 || !strings.Contains(out, "orders run") || !strings.Contains(out, "acquirer told") {
			t.Error(out, err)
		}
	}
}
