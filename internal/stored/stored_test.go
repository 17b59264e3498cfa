package stored_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/server/servertest"
	"idemlab/internal/stored"
	"idemlab/results"
	"idemlab/scenarios"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// caught is a control that has done what it is there for.
var caught = results.Control{Ran: true, Strategy: "check-then-act", ForcedCharge: &results.ForcedCharge{Captures: 2, DoubleCharged: true}}

func run(t *testing.T, policy string, change func(*stored.Options)) results.Run {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	o := stored.Options{Isolation: pgx.ReadCommitted, Seed: 1, Expect: check.ExpectClaim, DDL: string(ddl), Control: &caught}
	for _, p := range scenarios.StorePolicies() {
		if p.Name == policy {
			o.Policy = p
		}
	}
	if change != nil {
		change(&o)
	}
	r, err := stored.Run(t.Context(), servertest.Server(t), o)
	if err != nil {
		t.Fatalf("%s: %v", policy, err)
	}
	return r
}

// What each client is told, and how often the acquirer is, for every policy and every end of a first attempt. first, retry, reconciled and
// fresh are HTTP statuses.
func TestWhatEachPolicyLeadsTo(t *testing.T) {
	type row struct {
		first, retry int
		same         bool
		captures     int
		reconciled   int
		fresh        int
		freshCaps    int
	}
	for policy, want := range map[string]struct {
		verdict results.Verdict
		rows    map[string]row
	}{
		"all": {results.Held, map[string]row{
			"approved":     {201, 201, true, 1, 201, 201, 1},
			"declined":     {402, 402, true, 0, 402, 402, 0},
			"error-before": {502, 502, true, 0, 502, 201, 1}, // for ever
			"error-after":  {502, 502, true, 1, 201, 201, 1}, // the fresh key pays again
			"lost-reply":   {502, 502, true, 1, 201, 201, 1},
		}},
		"final": {results.Held, map[string]row{
			"approved":     {201, 201, true, 1, 201, 201, 1},
			"declined":     {402, 402, true, 0, 402, 402, 0},
			"error-before": {500, 409, false, 0, 409, 201, 1},
			"error-after":  {500, 409, false, 1, 201, 201, 1},
			"lost-reply":   {500, 409, false, 1, 201, 201, 1},
		}},
		"event": {results.Held, map[string]row{
			"approved":     {201, 201, true, 1, 201, 201, 0}, // the same charge, whatever the key
			"declined":     {402, 402, true, 0, 402, 402, 0},
			"error-before": {500, 409, false, 0, 409, 409, 0},
			"error-after":  {500, 409, false, 1, 201, 201, 0},
			"lost-reply":   {500, 409, false, 1, 201, 201, 0},
		}},
		"success": {results.Violated, map[string]row{
			"approved":     {201, 201, true, 1, 201, 201, 1},
			"declined":     {402, 402, false, 0, 402, 402, 0}, // refused anew each time
			"error-before": {500, 201, false, 1, 201, 201, 1},
			"error-after":  {500, 201, false, 2, 201, 201, 1},
			"lost-reply":   {500, 201, false, 2, 201, 201, 1},
		}},
		"none": {results.Violated, map[string]row{
			"approved":     {201, 201, false, 2, 201, 201, 1},
			"declined":     {402, 402, false, 0, 402, 402, 0},
			"error-before": {500, 201, false, 1, 201, 201, 1},
			"error-after":  {500, 201, false, 2, 201, 201, 1},
			"lost-reply":   {500, 201, false, 2, 201, 201, 1},
		}},
	} {
		t.Run(policy, func(t *testing.T) {
			r := run(t, policy, nil)
			if r.Verdict != want.verdict || r.ExitCode != check.ExitHeld || r.Stored.Policy != policy || len(r.Stored.Cells) != stored.Intents {
				t.Errorf("%s (%s), exit %d, %d cells", r.Verdict, r.Reason, r.ExitCode, len(r.Stored.Cells))
			}
			for _, c := range r.Stored.Cells {
				got := row{c.First.HTTP, c.Retry.HTTP, c.SameBytes, c.Captures, c.Reconciled.HTTP, c.Fresh.HTTP, c.FreshCaptures}
				if got != want.rows[c.Outcome] {
					t.Errorf("%s: %+v, want %+v", c.Outcome, got, want.rows[c.Outcome])
				}
			}
		})
	}
}

func TestNothingIsHeldWithoutAControl(t *testing.T) {
	if r := run(t, "final", func(o *stored.Options) { o.Control = nil }); r.Verdict != results.Inconclusive {
		t.Errorf("%s", r.Verdict)
	}
}

// jsonb is no place for an answer that is to be told again to the byte; bytea takes anything.
func TestInWhatColumnAnAnswerComesBack(t *testing.T) {
	r := run(t, "final", func(o *stored.Options) { o.Columns = true })
	want := map[string]string{ // a letter for each answer: = the same, ~ changed, x refused
		"jsonb": "~~~~xxx", "json": "=====xx", "text": "======x", "bytea": "=======",
	}
	states := map[string]bool{}
	for _, c := range r.Stored.Columns {
		got := ""
		for _, a := range c.Cases {
			switch {
			case a.SQLState != "":
				got += "x"
				states[a.SQLState] = true
			case a.SameBytes:
				got += "="
			default:
				got += "~"
			}
		}
		if got != want[c.Type] {
			t.Errorf("%s: %s, want %s", c.Type, got, want[c.Type])
		}
	}
	if len(r.Stored.Columns) != 4 || !states["22P05"] || !states["22P02"] || !states["22021"] {
		t.Errorf("%d columns, refused with %v", len(r.Stored.Columns), states)
	}
	if back := r.Stored.Columns[0].Cases[0].CameBack; back != `{"status": "CAPTURADA", "captura": "cap-000001"}` {
		t.Errorf("jsonb gives back %s", back)
	}
}
