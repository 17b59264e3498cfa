package cmd

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"idemlab/internal/race"
	"idemlab/internal/server"
	"idemlab/results"
)

// Of several exit codes the first of these counts, whichever is met first.
func TestTheWorseExitCodeCounts(t *testing.T) {
	order := []int{2, 130, 3, 1, 4, 0}
	for i, a := range order {
		for j, b := range order {
			if got, want := worse(a, b), order[min(i, j)]; got != want {
				t.Errorf("of %d and %d: %d, want %d", a, b, got, want)
			}
		}
	}
}

func TestCodeOfAnError(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"a command line that cannot be meant": {usagef("--rounds 0: say 1 or more"), 2},
		"the same, wrapped":                   {fmt.Errorf("race: %w", usagef("no")), 2},
		"options that the server refuses":     {fmt.Errorf("open: %w", &server.UsageError{Msg: "no"}), 2},
		"usage before the interruption":       {errors.Join(context.Canceled, usagef("no")), 2},
		"interrupted":                         {fmt.Errorf("connect: %w", context.Canceled), 130},
		"too slow is not interrupted":         {context.DeadlineExceeded, 3},
		"the server is gone":                  {race.ErrServerLost, 3},
		"anything else":                       {errors.New("no"), 3},
	} {
		if got := codeOf(c.err); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestWantsJSON(t *testing.T) {
	for arg, want := range map[string]bool{
		"--json": true, "--json=true": true, "--json=1": true, "--json=T": true,
		"--json=false": false, "--json=0": false, "--json=": false, "--json=maybe": false,
		"--jsonx": false, "-json": false, "json": false, "true": false, "": false,
	} {
		if got := wantsJSON(arg); got != want {
			t.Errorf("%q: %v", arg, got)
		}
	}
}

func TestDocumentLaysRunsTogether(t *testing.T) {
	held := results.Run{Status: results.Complete, Verdict: results.Held}
	violated := results.Run{Status: results.Complete, Verdict: results.Violated, ExitCode: 1}
	undecided := results.Run{Status: results.Complete, Verdict: results.Inconclusive, ExitCode: 4}
	aborted := results.Run{Status: results.Aborted, Verdict: results.Inconclusive, ExitCode: 4}
	errored := results.Run{Status: results.Errored, Verdict: results.Violated, ExitCode: 1}
	lost := errors.New("the server went away")

	for name, c := range map[string]struct {
		runs    []results.Run
		err     error
		ended   bool // by Ctrl-C
		verdict results.Verdict
		exit    int
	}{
		"held":                               {[]results.Run{held, held}, nil, false, results.Held, 0},
		"violated counts before undecided":   {[]results.Run{undecided, violated, held}, nil, false, results.Violated, 1},
		"undecided counts before held":       {[]results.Run{held, undecided, held}, nil, false, results.Inconclusive, 4},
		"one was interrupted":                {[]results.Run{violated, aborted}, nil, true, results.Violated, 130},
		"interrupted, by its status alone":   {[]results.Run{violated, aborted}, nil, false, results.Violated, 130},
		"interrupted between two runs":       {[]results.Run{held}, nil, true, results.Inconclusive, 130},
		"interrupted counts before an error": {[]results.Run{held}, lost, true, results.Inconclusive, 130},
		"one could not run to its end":       {[]results.Run{errored}, lost, false, results.Violated, 3},
		"could not run, by its status alone": {[]results.Run{errored, violated}, nil, false, results.Violated, 3},
		"an error beside runs that ended":    {[]results.Run{violated}, lost, false, results.Violated, 3},
		"no run":                             {nil, lost, false, results.Inconclusive, 3},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if c.ended {
				cancel()
			}
			runs := append([]results.Run(nil), c.runs...) // document marks them
			d := document(ctx, runs, c.err)
			if d.Format != results.Format || d.Verdict != c.verdict || d.ExitCode != c.exit || len(d.Runs) != len(c.runs) {
				t.Errorf("%s, exit %d, %d runs; want %s, exit %d", d.Verdict, d.ExitCode, len(d.Runs), c.verdict, c.exit)
			}
			if (d.Error != nil) != (c.err != nil) || c.err != nil && *d.Error != c.err.Error() {
				t.Errorf("error %v, want %v", d.Error, c.err)
			}
			for _, r := range d.Runs {
				want := map[results.Status]int{results.Aborted: 130, results.Errored: 3}[r.Status]
				if r.Status != results.Complete && r.ExitCode != want {
					t.Errorf("a run that is %s has exit code %d", r.Status, r.ExitCode)
				}
			}
		})
	}
}
