package check

import (
	"fmt"
	"slices"
	"strings"

	"idemlab/results"
	"idemlab/scenarios"
)

// Expectation is --expect: what the exit code is measured by.
type Expectation string

// The expectations.
const (
	ExpectClaim    Expectation = "claim" // what the strategy says of itself
	ExpectHeld     Expectation = "held"
	ExpectViolated Expectation = "violated"
)

// Exit codes of one run, a part of those of the command line.
const (
	ExitHeld         = 0
	ExitViolated     = 1
	ExitInconclusive = 4
)

// Evidence is what a run brings before the judge.
type Evidence struct {
	Found []scenarios.Anomaly // each kind once or more
	// Doubt says in words why finding nothing would prove nothing: no overlap, a control that did not fail, a search cut off.
	// Empty where the run could have found what there was.
	Doubt string
}

// Judgement is what a run came to.
type Judgement struct {
	Verdict  results.Verdict
	Expected results.Verdict
	Reason   string
	ExitCode int
	judged   []scenarios.Anomaly // nil: all
}

// Judged says whether the strategy claims anything about an anomaly here, so that finding it counts.
func (j Judgement) Judged(a scenarios.Anomaly) bool {
	return j.judged == nil || slices.Contains(j.judged, a)
}

// Judge compares what was found with what the strategy claims: never is what must not be found, shows is what must be.
//
// An anomaly in neither list is reported but not judged. A strategy that claims nothing at all is held to everything: an
// author who forgot the claims must not get a green light for a double charge. So are runs with an explicit expectation.
func Judge(expect Expectation, never, shows []scenarios.Anomaly, ev Evidence) Judgement {
	j := Judgement{Expected: results.Held}
	if expect == ExpectClaim && len(never)+len(shows) > 0 {
		j.judged = slices.Concat(never, shows)
	}
	if expect == ExpectViolated || expect == ExpectClaim && len(shows) > 0 {
		j.Expected = results.Violated
	}
	var found []scenarios.Anomaly
	for _, a := range scenarios.Anomalies() { // worst first
		if j.Judged(a) && slices.Contains(ev.Found, a) {
			found = append(found, a)
		}
	}
	switch {
	case len(found) > 0:
		j.Verdict, j.Reason = results.Violated, list(found)
	case ev.Doubt != "":
		j.Verdict, j.Reason = results.Inconclusive, ev.Doubt
	default:
		j.Verdict = results.Held
	}
	j.ExitCode = exitCode(expect, j.Verdict, found, shows)
	if expect == ExpectClaim && j.Verdict == results.Violated && j.ExitCode != ExitViolated && len(never) > 0 && ev.Doubt != "" {
		// All that was found, or some of it, must be; that what must not be found is not there is still open.
		j.ExitCode = ExitInconclusive
		j.Reason += "; " + open + list(never) + ": " + ev.Doubt
	}
	if missing := without(shows, found); expect == ExpectClaim && len(missing) > 0 {
		j.Reason = strings.TrimPrefix(j.Reason+"; not shown: "+list(missing), "; ")
	}
	if expect == ExpectClaim && len(never)+len(shows) == 0 {
		j.Reason = strings.TrimPrefix(j.Reason+"; the strategy claims nothing here, so every anomaly counts", "; ")
	}
	return j
}

// open begins what a reason says of claims that the run could not decide, where it found something and has a verdict all the same.
const open = "open is whether it shows "

// LeavesOpen says whether a run, judged by what the strategy claims, leaves open that what must never be found is not there, whatever else
// it found.
func LeavesOpen(run results.Run, never []scenarios.Anomaly) bool {
	return len(never) > 0 && run.Verdict == results.Inconclusive || strings.Contains(run.Reason, open)
}

func exitCode(expect Expectation, v results.Verdict, found, shows []scenarios.Anomaly) int {
	if expect == ExpectClaim && len(shows) > 0 {
		switch {
		case len(without(found, shows)) > 0: // found and judged, and not among the shown: it is among the never
			return ExitViolated
		case len(without(shows, found)) > 0:
			return ExitInconclusive // a bad example that did not show what it is there for
		}
		return ExitHeld
	}
	switch {
	case v == results.Inconclusive:
		return ExitInconclusive
	case (v == results.Violated) == (expect == ExpectViolated):
		return ExitHeld
	}
	return ExitViolated
}

// Plain judges where there are no claims to compare with, only "violated" or not: doubt is as in Evidence.
func Plain(expect Expectation, violated bool, doubt string) (verdict, expected results.Verdict, exit int) {
	verdict, expected = results.Held, results.Held
	switch {
	case violated:
		verdict = results.Violated
	case doubt != "":
		verdict = results.Inconclusive
	}
	if expect == ExpectViolated {
		expected = results.Violated
	}
	return verdict, expected, exitCode(expect, verdict, nil, nil)
}

// without returns the members of a that are not in b.
func without(a, b []scenarios.Anomaly) []scenarios.Anomaly {
	var rest []scenarios.Anomaly
	for _, x := range a {
		if !slices.Contains(b, x) {
			rest = append(rest, x)
		}
	}
	return rest
}

func list(anomalies []scenarios.Anomaly) string {
	var words []string
	for _, a := range anomalies {
		words = append(words, fmt.Sprint(a))
	}
	return strings.Join(words, ", ")
}
