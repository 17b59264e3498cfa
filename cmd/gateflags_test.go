package cmd

import (
	"bytes"
	"errors"
	"html"
	"path/filepath"
	"strings"
	"testing"

	"idemlab/internal/report"
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

// What a failure says to type is understood by the command that it names, flag for flag and value for value.
func TestWhatAFailureSaysToTypeIsUnderstood(t *testing.T) {
	gates := []results.Gate{{Expr: "duration_ms>0", Field: "duration_ms", Op: ">", Value: 1.0, Limit: 0.0, Outcome: results.GateFailed}}
	acq := results.AcquirerSettings{AcquirerLatency: "exp:50ms", DeclineShare: 0.5, AcquirerDedup: true}
	schema := filepath.Join(t.TempDir(), "own tables.sql")
	for _, r := range []results.Run{
		{Engine: "race", Settings: &results.Settings{AttemptsPerIntent: 4, Intents: 3, Rounds: 2, Instances: 1, Pool: 4, Effect: "email", AcquirerSettings: &acq, LeaseMS: 0.5, Schema: schema}},
		{Engine: "explore", Explore: &results.Explore{Sessions: 2, AttemptsPerSession: 3, Crashes: 1, Search: "full", Hard: true, Instances: 2, Beside: []string{"purger"}, Coverage: "exhaustive"}},
		{Engine: "expiry", Expiry: &results.Expiry{Settings: results.ExpirySettings{KeyLifetimeS: 86400, RetryAfterS: 90001, Purge: "finished", Answered: 10, Batch: 4, DeclineShare: 0.5, Dedup: true}}},
		{Engine: "recover", Recovery: &results.Recovery{Settings: results.RecoverySettings{Reconciler: "patient", LeaseMS: 200, DeadlineMS: 400,
			Demonstration: &results.Demonstration{Befalls: []string{"after-claim", "slow-answer"}, IntentsEach: 2, AcquirerSettings: acq}}}},
		{Engine: "reconcile", Recovery: &results.Recovery{Settings: results.RecoverySettings{LeaseMS: 60000, DeadlineMS: 90000, DryRun: true, Tables: "idemlab_6b1f0c2d9a3e4f58"}}},
		{Engine: "stored", Stored: &results.Stored{Policy: "final"}},
		{Engine: "bystander", Bystander: &results.Bystander{Cells: []results.BystanderCell{{Hot: 20, AcquirerLatencyMS: 0.5}, {Hot: 40, AcquirerLatencyMS: 1000}}}},
		{Engine: "consume", Consume: &results.Consume{Settings: results.ConsumeSettings{Broker: "postgres", KeyFrom: "payload", WindowMS: 3000, DoublePublishShare: 0.5,
			DoublePublishID: "same", DoublePublishAfterMS: 10, DedupWindowMS: 5, AcquirerSettings: &acq, LeaseMS: 1, Schema: schema}}},
		{Engine: "load", Load: &results.Load{Settings: results.LoadSettings{Clients: 16, HotShare: 0.5, HotKeys: 4, StallMS: 100, AcquirerSettings: &acq, LeaseMS: 1, Schema: schema}}},
		{Engine: "load", Load: &results.Load{Settings: results.LoadSettings{Rate: 2e6, Arrivals: "constant", MaxInFlight: 10}}},
		{Engine: "repeats", Repeats: &results.Repeats{}},
		{Engine: "storage", Storage: &results.Storage{Layout: "uuid-v7"}},
		{Engine: "neighbours", Neighbours: &results.Neighbours{}},
		{Engine: "retry", Settings: &results.Settings{Effect: "email", AcquirerSettings: &acq, LeaseMS: 0.5}, Retry: &results.Retry{
			Settings: results.RetrySettings{Backoff: "none", KeyPolicy: "new-per-attempt", Reconcile: true}, Faults: []results.RetryFault{{Fault: "answer:lost@1"}}}},
	} {
		r.Strategy, r.Seed, r.Status, r.Gates, r.Server.Isolation = "insert-first", 7, results.Complete, gates, "read committed"
		var b bytes.Buffer
		if err := report.JUnit(&b, results.Document{Runs: []results.Run{r}}); err != nil {
			t.Fatal(err)
		}
		_, line, found := strings.Cut(html.UnescapeString(b.String()), "again: idemlab ")
		line, _, _ = strings.Cut(line, "</failure>")
		if !found {
			t.Errorf("%s: nothing to type in\n%s", r.Engine, b.String())
			continue
		}
		// By the quotes: what is between them is one word.
		var words []string
		for i, part := range strings.Split(line, "'") {
			if i%2 == 1 {
				words = append(words, part)
				continue
			}
			words = append(words, strings.Fields(part)...)
		}
		c, flags, err := (&app{}).root().Find(words)
		if err != nil || c.Name() != r.Engine {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if err := c.ParseFlags(flags); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if c.Flags().NArg() > 0 {
			t.Errorf("%s: %q are words of no flag", line, c.Flags().Args())
		}
	}
}
