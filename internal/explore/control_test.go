package explore_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/explore"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// One control does for every case at a level, and says that it was another's; at another level, and in another scenario, it does not.
func TestCasesShareTheirControl(t *testing.T) {
	controls := explore.NewControls()
	for _, c := range []struct {
		s      scenarios.Strategy
		level  pgx.TxIsoLevel
		shared bool
	}{
		{scenarios.InsertFirst, "", false}, {scenarios.InsertFirstCatch, "", true}, {scenarios.InsertFirst, pgx.RepeatableRead, false},
		{scenarios.ConditionalUpdate, "", false}, {scenarios.ForUpdate, "", true},
	} {
		if r := oneCase(t, c.s, c.s.Scenario(), c.level, controls); r.ExitCode != 0 || r.Control == nil || !r.Control.Caught() || r.Control.Shared != c.shared {
			t.Errorf("%s at %q: %s (%s), control %+v", c.s.Name, c.level, r.Verdict, r.Reason, r.Control)
		}
	}
}

// A control that was not caught convinces nobody, is not remembered, and stands in no later case's way.
func TestAControlThatProvesNothingIsNotShared(t *testing.T) {
	controls := explore.NewControls()
	blind := scenarios.ChargeOnce
	blind.Control = scenarios.InsertFirst
	for range 2 {
		if r := oneCase(t, scenarios.InsertFirst, blind, "", controls); r.Verdict != results.Inconclusive || !strings.Contains(r.Reason, "control") || r.Control.Shared {
			t.Errorf("%s (%s), control %+v", r.Verdict, r.Reason, r.Control)
		}
	}
	if r := oneCase(t, scenarios.InsertFirst, scenarios.ChargeOnce, "", controls); r.Verdict != results.Held || r.Control.Shared {
		t.Errorf("%s (%s), control %+v", r.Verdict, r.Reason, r.Control)
	}
}

func oneCase(t *testing.T, s scenarios.Strategy, in scenarios.Scenario, level pgx.TxIsoLevel, controls *explore.Controls) results.Run {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	o := explore.Defaults(s)
	o.Isolation = level
	r, err := explore.Case{Scenario: in, Options: o, DDL: string(ddl), Expect: check.ExpectClaim, Controls: controls}.Run(t.Context(), servertest.Server(t))
	if err != nil {
		t.Fatal(err)
	}
	return r
}
