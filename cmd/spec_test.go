package cmd

import (
	"context"
	"errors"
	"testing"

	"idemlab/internal/check"
	"idemlab/internal/server/servertest"
	"idemlab/internal/spec"
	"idemlab/results"
)

// What a spec's orders came to is what the run says: that some of them cannot happen is no doubt.
func TestASpecsVerdictIsTheRuns(t *testing.T) {
	const elsewhere = "in all that can happen; 1 order cannot"
	srv := servertest.Server(t)
	judged := spec.Spec{Invariants: []string{"SELECT"}}
	violated := []spec.Order{{Violation: &spec.Violation{}}}
	for name, c := range map[string]struct {
		result  spec.Result
		expect  check.Expectation
		verdict results.Verdict
		exit    int
	}{
		"held":                            {spec.Result{Verdict: results.Held}, check.ExpectClaim, results.Held, 0},
		"held in all that can happen":     {spec.Result{Verdict: results.Held, Reason: elsewhere}, check.ExpectClaim, results.Held, 0},
		"held, and expected not to":       {spec.Result{Verdict: results.Held, Reason: elsewhere}, check.ExpectViolated, results.Held, 1},
		"none can happen":                 {spec.Result{Verdict: results.Inconclusive, Reason: "none"}, check.ExpectClaim, results.Inconclusive, 4},
		"nothing to judge":                {spec.Result{Reason: "nothing to judge"}, check.ExpectClaim, results.Inconclusive, 4},
		"violated":                        {spec.Result{Verdict: results.Violated, Orders: violated}, check.ExpectClaim, results.Violated, 1},
		"violated, as it was expected to": {spec.Result{Verdict: results.Violated, Orders: violated}, check.ExpectViolated, results.Violated, 0},
	} {
		f := exploreFlags{format: "text"}
		f.common.expect = string(c.expect)
		run := specDocument(srv, "s", judged, c.result, f)
		if run.Verdict != c.verdict || run.ExitCode != c.exit || run.Reason != c.result.Reason {
			t.Errorf("%s: %s, exit %d (%s); want %s, exit %d", name, run.Verdict, run.ExitCode, run.Reason, c.verdict, c.exit)
		}
	}
}

// A spec's run ends as any other does, and a budget that is used up leaves open what was not seen by then.
func TestASpecEndsAsOtherRunsDo(t *testing.T) {
	whole := t.Context()
	cut, cancel := context.WithCancel(whole)
	cancel()
	late, cancel := context.WithTimeout(whole, 0)
	defer cancel()
	lost := errors.New("lost")
	for name, c := range map[string]struct {
		ctx, limited context.Context
		err          error
		verdict      results.Verdict // before
		want         results.Verdict
		status       results.Status
		exit         int
		fails        bool
	}{
		"to its end":                       {whole, whole, nil, results.Held, results.Held, results.Complete, 0, false},
		"to its end, and late":             {whole, late, nil, results.Held, results.Held, results.Complete, 0, false},
		"interrupted":                      {cut, cut, lost, results.Inconclusive, results.Inconclusive, results.Aborted, 0, false},
		"interrupted at the last moment":   {cut, cut, nil, results.Held, results.Inconclusive, results.Aborted, 4, false},
		"interrupted, a violation seen":    {cut, late, lost, results.Violated, results.Violated, results.Aborted, 0, false},
		"the time is up":                   {whole, late, lost, results.Inconclusive, results.Inconclusive, results.Complete, 4, false},
		"the time is up, a violation seen": {whole, late, lost, results.Violated, results.Violated, results.Complete, 0, false},
		"it could not go on":               {whole, whole, lost, results.Inconclusive, results.Inconclusive, results.Errored, 0, true},
	} {
		run, err := specEnded(c.ctx, c.limited, results.Run{Verdict: c.verdict, Status: results.Complete}, c.err)
		if run.Verdict != c.want || run.Status != c.status || run.ExitCode != c.exit || (err != nil) != c.fails {
			t.Errorf("%s: %s, %s, exit %d, %v", name, run.Status, run.Verdict, run.ExitCode, err)
		}
	}
}
