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

// A bad example must be caught by some engine, not by each; what it must never show is forgiven nowhere.
func TestShownElsewhere(t *testing.T) {
	race := results.Run{Engine: "race", Strategy: "s", Hazard: "race", Status: results.Complete, Server: results.Server{Isolation: "read committed"},
		Expected: results.Violated, Verdict: results.Violated}
	with := func(r results.Run, change func(*results.Run)) results.Run { change(&r); return r }
	missed := with(race, func(r *results.Run) { r.Verdict, r.ExitCode, r.Reason = results.Held, 4, "not shown: double_charge" })
	searched := func(coverage string) results.Run {
		return with(missed, func(r *results.Run) { r.Engine, r.Explore = "explore", &results.Explore{Coverage: coverage} })
	}
	for name, c := range map[string]struct {
		shown, other results.Run
		want         int // the other's exit code
	}{
		"the other engine shows it":       {race, missed, 0},
		"a search that was exhaustive":    {race, searched("exhaustive"), 0},
		"a search that was cut off":       {race, searched("cut"), 4},
		"a sample of orders":              {race, searched("sampled"), 4},
		"nobody shows it":                 {missed, missed, 4},
		"shown by another strategy":       {with(race, func(r *results.Run) { r.Strategy = "other" }), missed, 4},
		"shown under another hazard":      {with(race, func(r *results.Run) { r.Hazard = "crash" }), missed, 4},
		"shown at another level":          {with(race, func(r *results.Run) { r.Server.Isolation = "serializable" }), missed, 4},
		"shown, and what it must not":     {with(race, func(r *results.Run) { r.ExitCode = 1 }), missed, 4},
		"against its claim":               {race, with(missed, func(r *results.Run) { r.ExitCode = 1 }), 1},
		"interrupted":                     {race, with(missed, func(r *results.Run) { r.Status = results.Aborted }), 4},
		"expected to hold, and undecided": {race, with(missed, func(r *results.Run) { r.Expected = results.Held }), 4},
		"held elsewhere, to be shown": {with(race, func(r *results.Run) { r.Expected, r.Verdict = results.Held, results.Held }),
			missed, 4},
	} {
		for other, runs := range [][]results.Run{{c.other, c.shown}, {c.shown, c.other}} { // in either order
			before := runs[other].Reason
			shownElsewhere(runs)
			if got := runs[other]; got.ExitCode != c.want || (got.Reason != before) != (c.want != c.other.ExitCode) {
				t.Errorf("%s: exit %d (%s), want %d", name, got.ExitCode, got.Reason, c.want)
			}
			if runs[1-other].ExitCode != c.shown.ExitCode {
				t.Errorf("%s: it changed the one that showed it", name)
			}
		}
	}
}
