package cmd

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/race"
	"idemlab/results"
	"idemlab/scenarios"
)

// planOf reads a command line of sweep without running it.
func planOf(t *testing.T, line string) (plan, error) {
	t.Helper()
	a, c, f := &app{schema: "-- tables"}, &cobra.Command{}, &sweepFlags{}
	f.add(a, c)
	if err := c.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	return f.plan(a, c.Flags().Changed)
}

// raceOf reads a command line of race.
func raceOf(t *testing.T, line string) race.Options {
	t.Helper()
	c, f := &cobra.Command{}, &raceFlags{}
	f.add(c)
	if err := c.ParseFlags(strings.Fields(line)); err != nil {
		t.Fatal(err)
	}
	all, err := f.options(&app{schema: "-- tables"})
	if err != nil || len(all) != 1 {
		t.Fatalf("%s: %d races, %v", line, len(all), err)
	}
	return all[0]
}

// Each cell is the race that its values would be, typed as flags: strategy by strategy, row by row.
func TestCellsAreTheRacesOfTheirFlags(t *testing.T) {
	const rest = " --rounds 3 --intents 2 --seed 9 --instances 2 --decline-share 0.5"
	p, err := planOf(t, "--x attempts=2,5 --y acquirer-latency=0s,7s -s insert-first,check-then-act"+rest)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, strategy := range []string{"insert-first", "check-then-act"} {
		for _, y := range []string{"0s", "7s"} {
			for _, x := range []string{"2", "5"} {
				lines = append(lines, "-s "+strategy+" --attempts "+x+" --acquirer-latency "+y+rest)
			}
		}
	}
	if len(p.cells) != len(lines) || p.measure != results.IntentsDoubleCharged || p.x.name != "attempts" || p.y.name != "acquirer-latency" {
		t.Fatalf("%d cells, want %d; %s", len(p.cells), len(lines), p.measure)
	}
	for i, line := range lines {
		got, want := p.cells[i].race, raceOf(t, line)
		if got.Strategy.Name != want.Strategy.Name || got.Scenario.Name != want.Scenario.Name {
			t.Fatalf("cell %d is %s, want %s", i, got.Strategy.Name, want.Strategy.Name)
		}
		for _, o := range []*race.Options{&got, &want} { // there are functions in them, which cannot be compared
			o.Strategy, o.Scenario = scenarios.Strategy{}, scenarios.Scenario{}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s is\n%+v, want\n%+v", p.cells[i].what, got, want)
		}
	}
	if c := p.cells[1]; c.x != "5" || c.y != "0s" || c.what != "insert-first, attempts=5, acquirer-latency=0s" {
		t.Errorf("%+v", c)
	}
}

// One axis is a row, ten rounds of five intents each; in a scenario without an acquirer it is what counts there that is counted.
func TestRowOfCells(t *testing.T) {
	p, err := planOf(t, "--x isolation=serializable,read-committed -s put")
	if err != nil || p.y != nil || len(p.cells) != 2 || p.measure != results.IntentsViolated {
		t.Fatalf("%+v, %v", p, err)
	}
	if c := p.cells[1]; c.what != "put, isolation=read committed" || c.y != "" || c.race.Rounds != 10 || c.race.Intents != 5 || c.race.Isolation != "read committed" {
		t.Errorf("%s: %+v", c.what, c.race)
	}
}

// What cannot be meant is a usage error that says what to type, and names the cell where it is wrong in one alone.
func TestSweepRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"":                                       "--x attempts=2,5,10,20",
		"--y pool=1,2":                           "--x attempts=2,5,10,20",
		"--x pool":                               "--x pool: ",
		"--x pool=1 --y x=2":                     "--y x=2: ",
		"--x pool=1 --y pool=2":                  "both vary pool",
		"--x pool=1,2 --pool 3":                  "--x varies pool, and --pool fixes it",
		"--x pool=1,2 --y attempts=3 -n 3":       "--y varies attempts, and --attempts fixes it",
		"--x attempts=2,8 --instances 4":         "at attempts=2: --instances 4",
		"--x attempts=4,8 --y instances=8,4":     "at attempts=4, instances=8: --instances 8",
		"--x acquirer-latency=1ms,5s --rounds 0": "--rounds 0: say 1 or more",
		"--x acquirer-latency=1s,1ms --attempt-timeout 20ms": "at acquirer-latency=1s: --attempt-timeout",
		"--x acquirer-latency=1ms -s put":                    "nobody calls an acquirer in the scenario resource",
		"--x pool=1 --y acquirer-latency=1ms -s put":         "nobody calls an acquirer",
		"--x pool=1 -s put,insert-first":                     "--strategy: put belongs to the scenario resource",
		"--x pool=1 -s none":                                 `no strategy "none"`,
		"--x pool=1..100 --y attempts=1..3":                  "600 cells, and 400 is the most",
		"--x pool=1 --csv - --json":                          "--csv - and --json",
	} {
		_, err := planOf(t, line)
		var usage usageError
		if !errors.As(err, &usage) || !strings.Contains(err.Error(), want) || strings.HasPrefix(want, "--s") && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// What is counted is what the rounds say; where nothing was found by a run that might not have seen it, nothing is bounded.
func TestCellAddsItsRoundsUp(t *testing.T) {
	n := func(n int) *int { return &n }
	round := func(intents, doubled, violated int) results.Round {
		return results.Round{Intents: intents, RoundCharges: &results.RoundCharges{IntentsDoubleCharged: doubled}, IntentsViolated: n(violated)}
	}
	racing := 500.0
	run := func(v results.Verdict, rounds ...results.Round) results.Run {
		return results.Run{Verdict: v, Rounds: rounds, Counts: &results.Counts{Attempts: 50}, RacingMS: &racing}
	}
	charges, violations := results.IntentsDoubleCharged, results.IntentsViolated
	for name, c := range map[string]struct {
		run                    results.Run
		measure                results.Measure
		rounds, intents, found int
		bounded                bool
	}{
		"double charges":              {run("violated", round(5, 2, 5), round(5, 4, 5)), charges, 2, 10, 6, true},
		"violations":                  {run("violated", round(5, 2, 4), round(5, 4, 5)), violations, 2, 10, 9, true},
		"no acquirer":                 {run("violated", results.Round{Intents: 5, IntentsViolated: n(1)}, results.Round{Intents: 5, IntentsViolated: n(2)}), violations, 2, 10, 3, true},
		"some in one round":           {run("violated", round(5, 2, 2)), charges, 1, 5, 2, false},
		"none":                        {run("held", round(5, 0, 0), round(5, 0, 0)), charges, 2, 10, 0, true},
		"none in one round":           {run("held", round(5, 0, 0)), charges, 1, 5, 0, false},
		"none, and undecided":         {run("inconclusive", round(5, 0, 0), round(5, 0, 0)), charges, 2, 10, 0, false},
		"a round that was cut short":  {run("violated", round(5, 1, 0), round(2, 1, 0), round(0, 0, 0)), charges, 2, 7, 2, true},
		"no round came to an intent":  {run("inconclusive", round(0, 0, 0)), charges, 0, 0, 0, false},
		"it was never begun":          {results.Run{}, charges, 0, 0, 0, false},
		"nothing is said of charges":  {run("violated", results.Round{Intents: 5, IntentsViolated: n(1)}), charges, 0, 0, 0, false},
		"of an older, wordless round": {run("violated", results.Round{Intents: 5}), violations, 0, 0, 0, false},
	} {
		got, ok := cellOf(c.run, c.measure)
		if ok != (c.intents > 0) {
			t.Errorf("%s: %+v %v", name, got, ok)
		}
		if !ok {
			continue
		}
		if got.Rounds != c.rounds || got.Intents != c.intents || got.Found != c.found || got.Share != float64(c.found)/float64(c.intents) || (got.Interval != nil) != c.bounded {
			t.Errorf("%s: %+v, %v", name, got, got.Interval)
		}
		if got.PerSecond == nil || *got.PerSecond != 100 {
			t.Errorf("%s: %v attempts a second", name, got.PerSecond)
		}
	}
	unmeasured := run("held", round(5, 0, 0))
	unmeasured.RacingMS = nil
	if got, _ := cellOf(unmeasured, charges); got.PerSecond != nil {
		t.Error("a rate out of no time")
	}
}

// A grid catches a bad example where it catches it anywhere; what it must never show is forgiven nowhere.
func TestShownInTheGrid(t *testing.T) {
	shows := job{race: race.Options{Instances: 1}, run: results.Run{Strategy: "s", Status: results.Complete,
		Server: results.Server{Isolation: "read committed"}, Expected: results.Violated, Verdict: results.Violated}}
	with := func(change func(*job)) job { j := shows; change(&j); return j }
	missed := with(func(j *job) {
		j.run.Verdict, j.run.ExitCode, j.run.Reason = results.Held, 4, "not shown: double_charge"
	})
	missedAnd := func(change func(*job)) job { j := missed; change(&j); return j }
	for name, c := range map[string]struct {
		shown, other job
		want         int // the other's exit code
	}{
		"another cell shows it":               {shows, missed, 0},
		"of races that did not overlap":       {shows, missedAnd(func(j *job) { j.run.Verdict = results.Inconclusive }), 0},
		"with --expect=violated":              {shows, missedAnd(func(j *job) { j.run.ExitCode = 1 }), 0},
		"no cell shows it":                    {missed, missed, 4},
		"another strategy shows it":           {with(func(j *job) { j.run.Strategy = "other" }), missed, 4},
		"it is shown at another level":        {with(func(j *job) { j.run.Server.Isolation = "serializable" }), missed, 4},
		"it is shown by several instances":    {with(func(j *job) { j.race.Instances = 2 }), missed, 4},
		"by several instances, of as many":    {with(func(j *job) { j.race.Instances = 2 }), missedAnd(func(j *job) { j.race.Instances = 4 }), 0},
		"it shows what it must not, too":      {with(func(j *job) { j.run.ExitCode = 1 }), missed, 4},
		"what it must not, in this cell":      {shows, with(func(j *job) { j.run.ExitCode = 1 }), 1},
		"the cell was interrupted":            {shows, missedAnd(func(j *job) { j.run.Status = results.Aborted }), 4},
		"the cell was expected to hold":       {shows, missedAnd(func(j *job) { j.run.Expected = results.Held }), 4},
		"the other cell was expected to hold": {with(func(j *job) { j.run.Expected, j.run.Verdict = results.Held, results.Held }), missed, 4},
	} {
		for other, ran := range [][]job{{c.other, c.shown}, {c.shown, c.other}} { // in either order
			before := ran[other].run.Reason
			shownInTheGrid(ran)
			if got := ran[other].run; got.ExitCode != c.want || (got.Reason != before) != (c.want != c.other.run.ExitCode) {
				t.Errorf("%s: exit %d (%s), want %d", name, got.ExitCode, got.Reason, c.want)
			}
			if ran[1-other].run.ExitCode != c.shown.run.ExitCode {
				t.Errorf("%s: it changed the one that showed it", name)
			}
		}
	}
}

// What is said beforehand is the acquirer's own time: two answers an intent, and none where there is no acquirer.
func TestAcquirerTime(t *testing.T) {
	for line, want := range map[string]time.Duration{
		"--x attempts=2,5 -s insert-first --acquirer-latency 1s --rounds 3 --intents 4":                  2 * 3 * 4 * 2 * time.Second,
		"--x acquirer-latency=1s,2s -s insert-first,check-then-act --rounds 1 --intents 1 --attempts 50": 2 * (1 + 2) * 2 * time.Second,
		"--x attempts=2,5 -s read-then-write":                                                            0,
	} {
		p, err := planOf(t, line)
		if got := acquirerTime(p.cells); err != nil || got != want {
			t.Errorf("%s: %v, want %v (%v)", line, got, want, err)
		}
	}
}
