package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"idemlab/results"
)

// Options say how to compare.
type Options struct {
	Source    string  // where the old runs are from, for the document
	Tolerance float64 // a share: 0.1 lets a number be a tenth worse
	Force     bool    // compare numbers although something that shapes them differs
}

// Group is runs of one kind and what came of comparing them.
type Group struct {
	Runs     []int // by their place among the new ones, oldest first
	Baseline results.Baseline
}

// measured is a run with what it was asked for.
type measured struct {
	results.Run
	place         int
	circumstances circumstances
}

// Runs compares new runs with old ones: a group for each kind and setting of the new ones, in their order. gone are the old ones of which
// there is none new, in words.
func Runs(old, new []results.Run, o Options) (groups []Group, gone []results.Skipped, err error) {
	oldSets, err := sets(old)
	if err != nil {
		return nil, nil, err
	}
	newSets, err := sets(new)
	if err != nil {
		return nil, nil, err
	}
	met := map[int]bool{}
	for _, set := range newSets {
		g := Group{Baseline: results.Baseline{Source: o.Source, NewRuns: len(set), TolerancePercent: 100 * o.Tolerance, Outcome: results.NotCompared}}
		for _, r := range set {
			g.Runs = append(g.Runs, r.place)
		}
		if i := nearest(oldSets, set); i >= 0 {
			met[i] = true
			against(&g.Baseline, oldSets[i], set, o)
		} else {
			g.Baseline.Reason = "there is no earlier run of it"
		}
		groups = append(groups, g)
	}
	return groups, missing(oldSets, met), nil
}

// sets puts runs together that are of one kind and were asked for in the same way.
func sets(runs []results.Run) ([][]measured, error) {
	var all [][]measured
	for place, r := range runs {
		c, err := circumstancesOf(r)
		if err != nil {
			return nil, err
		}
		m := measured{r, place, c}
		i := slices.IndexFunc(all, func(set []measured) bool { return kindOf(set[0].Run) == kindOf(r) && distance(set[0], m) == 0 })
		if i < 0 {
			all = append(all, []measured{m})
			continue
		}
		all[i] = append(all[i], m)
	}
	for _, set := range all {
		slices.SortStableFunc(set, func(a, b measured) int { return a.StartedAt.Compare(b.StartedAt) })
	}
	return all, nil
}

// distance is in how many things that shape the numbers two runs differ.
func distance(a, b measured) int {
	n := 0
	for _, d := range differences(a.circumstances, b.circumstances) {
		if d.Shapes {
			n++
		}
	}
	return n
}

// nearest is the set of the same kind that differs in the fewest settings, best in none; -1 where there is none of the kind.
func nearest(all [][]measured, set []measured) int {
	best, least := -1, 0
	for i, candidate := range all {
		if kindOf(candidate[0].Run) != kindOf(set[0].Run) {
			continue
		}
		if d := distance(candidate[0], set[0]); best < 0 || d < least {
			best, least = i, d
		}
	}
	return best
}

// against compares two sets of one kind.
func against(b *results.Baseline, old, new []measured, o Options) {
	b.Differences = differences(together(old), together(new))
	oldRuns, newRuns := complete(old), complete(new)
	b.OldRuns, b.NewRuns = len(oldRuns), len(newRuns)
	shaped := slices.ContainsFunc(b.Differences, func(d results.Difference) bool { return d.Shapes })
	switch {
	case len(newRuns) == 0:
		b.Reason = "the run did not come to its end"
		return
	case len(oldRuns) == 0:
		b.Reason = "the earlier run did not come to its end"
		return
	case shaped && !o.Force:
		b.Reason = "what shapes the numbers differs: " + named(b.Differences)
		return
	}
	b.Forced = shaped
	b.Changes = changes(oldRuns, newRuns)
	b.Outcome = results.NoRegression
	for _, m := range metrics(oldRuns, newRuns) {
		judged := m.judge(o.Tolerance)
		b.Metrics = append(b.Metrics, judged)
		if judged.Outcome == results.Regressed {
			b.Outcome = results.Regression
		}
	}
	for _, c := range b.Changes {
		if c.Regression {
			b.Outcome = results.Regression
		}
	}
}

// complete leaves out what did not come to its end: half a run is no sample.
func complete(set []measured) []results.Run {
	var runs []results.Run
	for _, r := range set {
		if r.Status == results.Complete {
			runs = append(runs, r.Run)
		}
	}
	return runs
}

func named(differences []results.Difference) string {
	var parts []string
	for _, d := range differences {
		if d.Shapes {
			parts = append(parts, fmt.Sprintf("%s was %s and is %s", d.Field, d.Old, d.New))
		}
	}
	return strings.Join(parts, ", ")
}

// changes are the results that take no statistics: the worst verdict of the runs, the worst exit code by their claims, and the first duplicate
// capture. A change to the worse is a regression, however small; one to the better is said.
func changes(old, new []results.Run) []results.Change {
	var all []results.Change
	oldExit, newExit := worstExit(old), worstExit(new)
	sameMeasure := old[0].Expected == new[0].Expected // else the exit codes measure by different expectations
	oldVerdict, newVerdict := results.Worst(old), results.Worst(new)
	better := sameMeasure && badness(newExit) < badness(oldExit)
	if oldVerdict != newVerdict {
		worse := verdictBadness(newVerdict) > verdictBadness(oldVerdict) && !better
		all = append(all, results.Change{Field: "verdict", Old: string(oldVerdict), New: string(newVerdict), Regression: worse})
	}
	if oldExit != newExit && sameMeasure {
		all = append(all, results.Change{Field: "exit_code", Old: strconv.Itoa(oldExit), New: strconv.Itoa(newExit), Regression: badness(newExit) > badness(oldExit)})
	}
	if before, ok := duplicates(old); ok && before == 0 {
		if now, ok := duplicates(new); ok && now > 0 {
			all = append(all, results.Change{Field: "counts.duplicate_captures", Old: "0", New: strconv.Itoa(now), Regression: true})
		}
	}
	return all
}

// worstExit is the worst exit code by the claims, before gates and baselines had their say.
func worstExit(runs []results.Run) int {
	return slices.MaxFunc(runs, func(a, b results.Run) int { return cmp.Compare(badness(a.ClaimCode()), badness(b.ClaimCode())) }).ClaimCode()
}

// badness orders the exit codes of runs that came to their end.
func badness(exit int) int { return slices.Index([]int{0, 4, 1}, exit) }

func verdictBadness(v results.Verdict) int {
	return slices.Index([]results.Verdict{results.Held, results.Inconclusive, results.Violated}, v)
}

// duplicates is the largest count of them in a run; not ok where money does not move at an acquirer.
func duplicates(runs []results.Run) (most int, ok bool) {
	for _, r := range runs {
		if r.Counts != nil && r.Counts.AcquirerCounts != nil {
			most, ok = max(most, r.Counts.DuplicateCaptures), true
		}
	}
	return most, ok
}

// missing names the old runs that nothing new was held against.
func missing(old [][]measured, met map[int]bool) []results.Skipped {
	var gone []results.Skipped
	for i, set := range old {
		if !met[i] {
			gone = append(gone, results.Skipped{Strategy: set[0].Strategy,
				Reason: fmt.Sprintf("%s, %s: only in the older", set[0].Engine, set[0].Server.Isolation)})
		}
	}
	return gone
}
