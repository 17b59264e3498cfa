package cmd

import (
	"errors"
	"strings"
	"testing"

	"idemlab/results"
	"idemlab/scenarios"
)

// Exit codes follow gates by the house's precedence; verdicts do not follow them at all.
func TestGatesDecideAboutTheExitCodeAlone(t *testing.T) {
	const passes, fails, absent = "latency.n>1000", "latency.n>1", "latency.p99_ms>1"
	run := func(status results.Status, v results.Verdict, exit int) results.Run {
		return results.Run{Engine: "race", Scenario: "charge", Strategy: "insert-first", Status: status, Verdict: v, ExitCode: exit, Latency: &results.Latency{N: 40}}
	}
	for name, c := range map[string]struct {
		run   results.Run
		exprs []string
		want  int
	}{
		"all pass":                      {run(results.Complete, results.Held, 0), []string{passes, passes}, 0},
		"one fails":                     {run(results.Complete, results.Held, 0), []string{passes, fails}, 1},
		"not measured":                  {run(results.Complete, results.Held, 0), []string{passes, absent}, 4},
		"failed before not measured":    {run(results.Complete, results.Held, 0), []string{absent, fails}, 1},
		"failed before inconclusive":    {run(results.Complete, results.Inconclusive, 4), []string{fails}, 1},
		"a broken claim is not mended":  {run(results.Complete, results.Violated, 1), []string{passes, absent}, 1},
		"interrupted before failed":     {run(results.Aborted, results.Inconclusive, 130), []string{fails}, 130},
		"could not run before failed":   {run(results.Errored, results.Inconclusive, 3), []string{fails}, 3},
		"no gate: nothing is different": {run(results.Complete, results.Inconclusive, 4), nil, 4},
	} {
		f := gateFlags{exprs: c.exprs, engines: []string{"race"}}
		if err := f.check([]scenarios.Scenario{scenarios.ChargeOnce}); err != nil {
			t.Fatal(err)
		}
		d := results.Document{Verdict: c.run.Verdict, ExitCode: c.run.ExitCode, Runs: []results.Run{c.run}}
		if err := f.judge(&d); err != nil {
			t.Fatal(err)
		}
		r := d.Runs[0]
		if d.ExitCode != c.want || r.ExitCode != c.want || r.ClaimCode() != c.run.ExitCode {
			t.Errorf("%s: exit %d, the run's %d, by its claim %d; want %d", name, d.ExitCode, r.ExitCode, r.ClaimCode(), c.want)
		}
		if d.Verdict != c.run.Verdict || r.Verdict != c.run.Verdict {
			t.Errorf("%s: the verdict has changed", name)
		}
		if (r.ClaimExitCode != nil) != (len(c.exprs) > 0) {
			t.Errorf("%s: a claim's exit code apart: %v", name, r.ClaimExitCode)
		}
	}
}

// A gate that met no run must not look as if it had passed.
func TestAGateThatMetNoRun(t *testing.T) {
	f := gateFlags{exprs: []string{"latency.p99_ms>1"}, engines: []string{"race", "explore"}}
	if err := f.check(nil); err != nil {
		t.Fatal(err)
	}
	d := results.Document{Runs: []results.Run{{Engine: "explore", Scenario: "charge", Status: results.Complete}}}
	if err := f.judge(&d); err != nil {
		t.Fatal(err)
	}
	if d.ExitCode != exitInconclusive || d.Error == nil || !strings.Contains(*d.Error, "latency.p99_ms>1") {
		t.Errorf("exit %d, %v", d.ExitCode, d.Error)
	}
}

func TestGatesAreForTheScenariosThatRun(t *testing.T) {
	for _, c := range []struct {
		expr    string
		of      []scenarios.Scenario
		refused bool
	}{
		{"counts.duplicate_captures>0", []scenarios.Scenario{scenarios.ChargeOnce}, false},
		{"counts.duplicate_captures>0", []scenarios.Scenario{scenarios.Debit}, true},
		{"counts.duplicate_captures>0", []scenarios.Scenario{scenarios.Debit, scenarios.ChargeOnce}, false},
		{"counts.duplicate_captures>0", nil, false}, // who knows
		{"counts.measures.retries>0", []scenarios.Scenario{scenarios.Debit}, false},
		{"counts.measures.retries>0", []scenarios.Scenario{scenarios.ChargeOnce}, true},
		{"answers.done>0", []scenarios.Scenario{scenarios.ChargeOnce}, true},
		{"answers.done>0", []scenarios.Scenario{scenarios.Resource}, false},
	} {
		f := gateFlags{exprs: []string{c.expr}, engines: []string{"race"}}
		err := f.check(c.of)
		var usage usageError
		if (err != nil) != c.refused || err != nil && !errors.As(err, &usage) {
			t.Errorf("%s: %v", c.expr, err)
		}
	}
}
