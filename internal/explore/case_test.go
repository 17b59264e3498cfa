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

// Crashes that were allowed excuse nothing that needs none: a strategy that says it never charges twice in a race, and shows
// it with a crash, is judged by the order, not by what else might have befallen it.
func TestAnOrderIsJudgedByItsOwnFaults(t *testing.T) {
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	s := scenarios.CheckThenAct
	s.Never = []scenarios.Claim{{Under: scenarios.Race, Anomaly: scenarios.DoubleCharge}}
	s.Shows = []scenarios.Claim{{Under: scenarios.Crash, Anomaly: scenarios.DoubleCharge}}
	for sessions, want := range map[int]int{1: 0, 2: 1} { // one client alone needs the crash, two do not
		o := explore.Defaults(s)
		o.Sessions, o.Crashes, o.Isolation = sessions, 1, pgx.ReadCommitted
		r, err := explore.Case{Scenario: scenarios.ChargeOnce, Options: o, DDL: string(ddl), Expect: check.ExpectClaim}.Run(t.Context(), servertest.Server(t))
		if err != nil || r.Verdict != results.Violated || r.ExitCode != want {
			t.Errorf("%d sessions: %s, exit %d, want %d (%s; %v)", sessions, r.Verdict, r.ExitCode, want, r.Reason, err)
		}
	}
}

// What is left out is said, where it could have happened.
func TestBoundsSayWhatIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		s                 scenarios.Strategy
		crashes           int
		waiting, declined bool
	}{
		{scenarios.InsertFirst, 1, true, true},
		{scenarios.InsertFirst, 0, false, true},
		{scenarios.ReadThenWrite, 1, true, false}, // it has no acquirer
	} {
		o := options(c.s)
		o.Crashes, o.Sessions, o.MaxSchedules = c.crashes, 1, 1
		b := run(t, o).Bounds()
		if strings.Contains(b, "nobody dying while it waits") != c.waiting || strings.Contains(b, "no capture declined") != c.declined {
			t.Errorf("%s, %d crashes: %s", c.s.Name, c.crashes, b)
		}
	}
}
