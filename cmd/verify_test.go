package cmd

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/race"
	"idemlab/results"
	"idemlab/scenarios"
)

// A bad example must be caught by some engine, not by each; what it must never show is forgiven nowhere, and is open nowhere.
func TestShownElsewhere(t *testing.T) {
	const double, divergent, orphan = scenarios.DoubleCharge, scenarios.DivergentAnswers, scenarios.Orphan
	type list = []scenarios.Anomaly
	bad := list(nil) // it never shows nothing
	half := list{orphan}
	// judged is a race as an engine judges it.
	judged := func(never, found list, doubt string) results.Run {
		j := check.Judge(check.ExpectClaim, never, list{double, divergent}, check.Evidence{Found: found, Doubt: doubt})
		return results.Run{Engine: "race", Strategy: "s", Hazard: "race", Status: results.Complete, Server: results.Server{Isolation: "read committed"},
			Verdict: j.Verdict, Expected: j.Expected, Reason: j.Reason, ExitCode: j.ExitCode}
	}
	with := func(r results.Run, change func(*results.Run)) results.Run { change(&r); return r }
	searched := func(coverage string, r results.Run) results.Run {
		return with(r, func(r *results.Run) { r.Engine, r.Explore = "explore", &results.Explore{Coverage: coverage} })
	}
	givenUp := func(r results.Run) results.Run {
		n := 1
		return with(r, func(r *results.Run) { r.Counts = &results.Counts{AttemptsGivenUp: &n} })
	}
	both, none := list{double, divergent}, list(nil)
	shown, missed := judged(bad, both, ""), judged(bad, none, "")
	for name, c := range map[string]struct {
		never        list
		shown, other results.Run
		want         int // the other's exit code
	}{
		"the other engine shows it":       {bad, shown, missed, 0},
		"a part of it":                    {bad, shown, judged(bad, list{double}, ""), 0},
		"a race in doubt":                 {bad, shown, judged(bad, none, "no overlap"), 0},
		"a search that was exhaustive":    {bad, shown, searched("exhaustive", missed), 0},
		"a search that was cut off":       {bad, shown, searched("cut", missed), 4},
		"a sample of orders":              {bad, shown, searched("sampled", missed), 4},
		"a search that is in doubt":       {bad, shown, searched("exhaustive", judged(bad, none, "diverged")), 4},
		"nobody shows it":                 {bad, missed, missed, 4},
		"shown by another strategy":       {bad, with(shown, func(r *results.Run) { r.Strategy = "other" }), missed, 4},
		"shown under another hazard":      {bad, with(shown, func(r *results.Run) { r.Hazard = "crash" }), missed, 4},
		"shown at another level":          {bad, with(shown, func(r *results.Run) { r.Server.Isolation = "serializable" }), missed, 4},
		"shown, and what it must not":     {half, judged(half, list{double, divergent, orphan}, ""), judged(half, none, ""), 4},
		"against its claim":               {half, judged(half, both, ""), judged(half, list{orphan}, ""), 1},
		"interrupted":                     {bad, shown, with(missed, func(r *results.Run) { r.Status = results.Aborted }), 4},
		"expected to hold, and undecided": {bad, shown, with(missed, func(r *results.Run) { r.Expected = results.Held }), 4},
		"held elsewhere, to be shown":     {bad, with(shown, func(r *results.Run) { r.Expected, r.Verdict = results.Held, results.Held }), missed, 4},

		"nothing open, nothing shown":     {half, judged(half, both, ""), judged(half, none, ""), 0},
		"nothing open, a part shown":      {half, judged(half, both, ""), judged(half, list{double}, ""), 0},
		"nothing open, a search, a part":  {half, judged(half, both, ""), searched("exhaustive", judged(half, list{double}, "")), 0},
		"open, nothing shown":             {half, judged(half, both, ""), judged(half, none, "no overlap"), 4},
		"open, a part shown":              {half, judged(half, both, ""), judged(half, list{double}, "no overlap"), 4},
		"open, all of it shown":           {half, judged(half, both, ""), judged(half, both, "no overlap"), 4},
		"open, a search, nothing shown":   {half, judged(half, both, ""), searched("exhaustive", judged(half, none, "lock_timeout")), 4},
		"open, a search, a part shown":    {half, judged(half, both, ""), searched("exhaustive", judged(half, list{double}, "lock_timeout")), 4},
		"open, a search, all of it shown": {half, judged(half, both, ""), searched("exhaustive", judged(half, both, "lock_timeout")), 4},
		"attempts were given up":          {bad, shown, givenUp(missed), 4},
		"shown where some were given up":  {bad, givenUp(shown), missed, 4},
	} {
		s := scenarios.Strategy{}
		for _, a := range c.never {
			s.Never = append(s.Never, scenarios.Claim{Under: scenarios.Race, Anomaly: a})
		}
		one := cell{strategy: s, hazard: scenarios.Race, race: &race.Options{Isolation: pgx.ReadCommitted}}
		for other, runs := range [][]results.Run{{c.other, c.shown}, {c.shown, c.other}} { // in either order
			before := runs[other].Reason
			shownElsewhere([]cell{one, one}, runs)
			if got := runs[other]; got.ExitCode != c.want || (got.Reason != before) != (c.want != c.other.ExitCode) {
				t.Errorf("%s: exit %d (%s), want %d", name, got.ExitCode, got.Reason, c.want)
			}
			if runs[1-other].ExitCode != c.shown.ExitCode {
				t.Errorf("%s: it changed the one that showed it", name)
			}
		}
	}
}
