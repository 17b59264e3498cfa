package check

import (
	"context"
	"errors"
	"testing"

	"idemlab/results"
)

// Only a run that came to its end holds; one that was caught stays caught.
func TestEnded(t *testing.T) {
	const held, violated, open = results.Held, results.Violated, results.Inconclusive
	whole := t.Context()
	cut, cancel := context.WithCancel(whole)
	cancel()
	lost := errors.New("lost")
	for name, c := range map[string]struct {
		ctx    context.Context
		err    error
		run    results.Run
		status results.Status
		want   results.Run
	}{
		"to its end":             {whole, nil, results.Run{Verdict: held}, results.Complete, results.Run{Verdict: held}},
		"interrupted":            {cut, nil, results.Run{Verdict: held}, results.Aborted, results.Run{Verdict: open, Reason: "interrupted", ExitCode: 4}},
		"interrupted, and more":  {cut, lost, results.Run{Verdict: held, Reason: "odd"}, results.Aborted, results.Run{Verdict: open, Reason: "interrupted; odd", ExitCode: 4}},
		"interrupted, caught":    {cut, nil, results.Run{Verdict: violated, Reason: "orphan", ExitCode: 1}, results.Aborted, results.Run{Verdict: violated, Reason: "orphan", ExitCode: 1}},
		"interrupted, in doubt":  {cut, nil, results.Run{Verdict: open, Reason: "no overlap", ExitCode: 4}, results.Aborted, results.Run{Verdict: open, Reason: "no overlap", ExitCode: 4}},
		"interrupted, not begun": {cut, nil, results.Run{Verdict: open, ExitCode: 4}, results.Aborted, results.Run{Verdict: open, Reason: "interrupted", ExitCode: 4}},
		"stopped by an error":    {whole, lost, results.Run{Verdict: held}, results.Errored, results.Run{Verdict: open, Reason: "not finished: lost", ExitCode: 4}},
		"caught, and an error":   {whole, lost, results.Run{Verdict: violated, ExitCode: 1}, results.Errored, results.Run{Verdict: violated, ExitCode: 1}},
	} {
		c.run.Status = results.Complete
		got, err := Ended(c.ctx, c.run, c.err)
		if got.Status != c.status || got.Verdict != c.want.Verdict || got.Reason != c.want.Reason || got.ExitCode != c.want.ExitCode {
			t.Errorf("%s: %s, %s (%s), exit %d", name, got.Status, got.Verdict, got.Reason, got.ExitCode)
		}
		if (err != nil) != (c.status == results.Errored) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
