package check

import (
	"testing"

	"idemlab/results"
	"idemlab/scenarios"
)

func TestJudge(t *testing.T) {
	const double, failed = scenarios.DoubleCharge, scenarios.ErrorToDuplicate
	type list = []scenarios.Anomaly
	safe, unsafe := list{double}, list{double}
	none := list(nil)
	for name, c := range map[string]struct {
		expect       Expectation
		never, shows list
		found        list
		doubt        string
		verdict      results.Verdict
		exit         int
	}{
		"safe, nothing found":                       {ExpectClaim, safe, none, none, "", results.Held, 0},
		"safe, caught":                              {ExpectClaim, safe, none, list{double}, "", results.Violated, 1},
		"safe, caught in spite of doubt":            {ExpectClaim, safe, none, list{double}, "no overlap", results.Violated, 1},
		"safe, in doubt":                            {ExpectClaim, safe, none, none, "no overlap", results.Inconclusive, 4},
		"safe, something unclaimed":                 {ExpectClaim, safe, none, list{failed}, "", results.Held, 0},
		"unsafe, caught":                            {ExpectClaim, none, unsafe, list{double}, "", results.Violated, 0},
		"unsafe, not caught":                        {ExpectClaim, none, unsafe, none, "", results.Held, 4},
		"mixed, shows what it shows":                {ExpectClaim, safe, list{failed}, list{failed}, "", results.Violated, 0},
		"mixed, shows also what it must not":        {ExpectClaim, safe, list{failed}, list{failed, double}, "", results.Violated, 1},
		"mixed, shows only what it must not":        {ExpectClaim, safe, list{failed}, list{double}, "", results.Violated, 1},
		"mixed, shows nothing":                      {ExpectClaim, safe, list{failed}, none, "", results.Held, 4},
		"mixed, shows what it shows, in doubt":      {ExpectClaim, safe, list{failed}, list{failed}, "cut off", results.Violated, 4},
		"unsafe, caught, in doubt":                  {ExpectClaim, none, unsafe, list{double}, "cut off", results.Violated, 0},
		"no claims, nothing found":                  {ExpectClaim, none, none, none, "", results.Held, 0},
		"no claims is no licence":                   {ExpectClaim, none, none, list{double}, "", results.Violated, 1},
		"expected to hold, violated as it claims":   {ExpectHeld, none, unsafe, list{double}, "", results.Violated, 1},
		"expected to hold, unclaimed found":         {ExpectHeld, safe, none, list{failed}, "", results.Violated, 1},
		"expected to hold, held":                    {ExpectHeld, safe, none, none, "", results.Held, 0},
		"expected to hold, in doubt":                {ExpectHeld, safe, none, none, "no overlap", results.Inconclusive, 4},
		"expected violated, violated":               {ExpectViolated, safe, none, list{double}, "", results.Violated, 0},
		"expected violated, held with proof":        {ExpectViolated, none, unsafe, none, "", results.Held, 1},
		"expected violated, not found and in doubt": {ExpectViolated, none, unsafe, none, "no overlap", results.Inconclusive, 4},
	} {
		t.Run(name, func(t *testing.T) {
			j := Judge(c.expect, c.never, c.shows, Evidence{Found: c.found, Doubt: c.doubt})
			if j.Verdict != c.verdict || j.ExitCode != c.exit {
				t.Errorf("got %s, exit %d (%s); want %s, exit %d", j.Verdict, j.ExitCode, j.Reason, c.verdict, c.exit)
			}
		})
	}
}

// Doubt leaves open what must never be found, however much else was; what was found is not open.
func TestLeavesOpen(t *testing.T) {
	const double, failed, orphan = scenarios.DoubleCharge, scenarios.ErrorToDuplicate, scenarios.Orphan
	type list = []scenarios.Anomaly
	for name, c := range map[string]struct {
		never, shows, found list
		doubt               string
		want                bool
	}{
		"safe, nothing found":               {list{double}, nil, nil, "", false},
		"safe, in doubt":                    {list{double}, nil, nil, "no overlap", true},
		"safe, caught in spite of doubt":    {list{double}, nil, list{double}, "no overlap", false},
		"unsafe, in doubt":                  {nil, list{double}, nil, "no overlap", false},
		"mixed, nothing found":              {list{double}, list{failed, orphan}, nil, "", false},
		"mixed, some of it found":           {list{double}, list{failed, orphan}, list{failed}, "", false},
		"mixed, all of it found":            {list{double}, list{failed, orphan}, list{failed, orphan}, "", false},
		"mixed, nothing found, in doubt":    {list{double}, list{failed, orphan}, nil, "cut off", true},
		"mixed, some of it found, in doubt": {list{double}, list{failed, orphan}, list{failed}, "cut off", true},
		"mixed, all of it found, in doubt":  {list{double}, list{failed, orphan}, list{failed, orphan}, "cut off", true},
		"mixed, caught in spite of doubt":   {list{double}, list{failed, orphan}, list{failed, double}, "cut off", false},
	} {
		j := Judge(ExpectClaim, c.never, c.shows, Evidence{Found: c.found, Doubt: c.doubt})
		run := results.Run{Verdict: j.Verdict, Expected: j.Expected, Reason: j.Reason, ExitCode: j.ExitCode}
		if got := LeavesOpen(run, c.never); got != c.want {
			t.Errorf("%s: %v (%s: %s)", name, got, j.Verdict, j.Reason)
		}
	}
}
