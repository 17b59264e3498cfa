package explore_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/explore"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// Every strategy of the scenarios beside charge, at every level, with and without a crash: as claimed, on one server.
func TestOtherScenariosBothWays(t *testing.T) {
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	controls := explore.NewControls()
	for _, c := range scenarios.Scenarios()[1:] {
		for _, s := range c.Strategies() {
			for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
				for crashes := range 2 {
					if c.Name == scenarios.TwoTenants.Name && level != pgx.ReadCommitted && crashes > 0 {
						continue // up to ten thousand orders each: idemlab verify --full has them
					}
					o := explore.Defaults(s)
					o.Isolation, o.Crashes = level, crashes
					never, shows := s.Judged([]scenarios.Hazard{scenarios.Race, scenarios.Crash}[crashes], level)
					if len(never) == 0 {
						o.Enough = shows // a bad example is caught when it is caught
					}
					run, err := explore.Case{Scenario: c, Options: o, DDL: string(ddl), Expect: check.ExpectClaim, Controls: controls}.Run(t.Context(), servertest.Server(t))
					if crashes == 0 && o.Sessions < c.Least() { // three are in TestThreeClientsOfTwoTenants
						want := results.Inconclusive
						if len(shows) > 0 {
							want = results.Violated
						}
						if err != nil || run.Verdict != want || run.ExitCode == 0 || !strings.Contains(run.Reason, "takes 3") {
							t.Errorf("%s at %s, too few clients: %s (%s), %v", s.Name, level, run.Verdict, run.Reason, err)
						}
						continue
					}
					if err != nil || run.ExitCode != 0 || run.Explore.Coverage != "exhaustive" && o.Enough == nil {
						t.Fatalf("%s at %s, %d crashes: %s, exit %d (%s), %v", s.Name, level, crashes, run.Verdict, run.ExitCode, run.Reason, err)
					}
					if bad := len(shows) > 0; bad != (run.Verdict == results.Violated) || !bad && s.Name == c.Control.Name {
						t.Errorf("%s at %s, %d crashes: %s (%s)", s.Name, level, crashes, run.Verdict, run.Reason)
					}
					if alone := strings.Contains(run.Explore.Bounds, "by the invariants alone"); alone != (c.Model == nil) {
						t.Errorf("%s: bounds %s", s.Name, run.Explore.Bounds)
					}
				}
			}
		}
	}
}

// The picture shows the balance that is there beside the debits that were made.
func TestLostUpdateHasAPicture(t *testing.T) {
	o := explore.Defaults(scenarios.ReadThenWrite)
	r := run(t, o)
	if len(r.Violations) == 0 || r.Violations[0].Anomaly != scenarios.LostUpdate || !r.Violations[0].Minimal {
		t.Fatalf("%+v", r.Violations)
	}
	for _, out := range r.Document().Outcomes {
		if out.Captures != nil || !slices.Contains(out.Rows, "125.00") {
			t.Errorf("an end of %v, captures %v", out.Rows, out.Captures)
		}
	}
}

// Money is conserved whoever is first of three, too.
func TestThreeDebits(t *testing.T) {
	for _, s := range []scenarios.Strategy{scenarios.ReadThenWrite, scenarios.ConditionalUpdate, scenarios.ForUpdate} {
		o := explore.Defaults(s)
		o.Sessions = 3
		r := run(t, o)
		if bad := s.Name == scenarios.ReadThenWrite.Name; !r.Complete || bad != (r.Violating > 0) || r.Inconclusive != "" {
			t.Errorf("%s: %d of %d violating, %s %s", s.Name, r.Violating, r.Schedules, r.Coverage(), r.Inconclusive)
		}
	}
}

// Each tenant is charged once, also where one of them sends its request twice.
func TestThreeClientsOfTwoTenants(t *testing.T) {
	for _, s := range []scenarios.Strategy{scenarios.KeyForAllTenants, scenarios.KeyPerTenant} {
		o := explore.Defaults(s)
		o.Sessions = 3
		safe := s.Name == scenarios.KeyPerTenant.Name
		r := run(t, o)
		if !r.Complete || safe == (r.Violating > 0) || r.Inconclusive != "" {
			t.Errorf("%s: %d of %d violating, %s %s", s.Name, r.Violating, r.Schedules, r.Coverage(), r.Inconclusive)
		}
		for _, out := range r.Outcomes {
			if want := map[bool]int{true: 2, false: 1}[safe]; out.Captures != want {
				t.Errorf("%s: an end of %d captures", s.Name, out.Captures)
			}
		}
	}
}

// The key alone does more than refuse: the second tenant is told what is the first one's.
func TestOneTenantIsToldTheOthersAnswer(t *testing.T) {
	for s, leaks := range map[*scenarios.Strategy]bool{&scenarios.KeyForAllTenants: true, &scenarios.TenantCompared: false, &scenarios.KeyPerTenant: false} {
		r := run(t, explore.Defaults(*s))
		found := slices.ContainsFunc(r.Violations, func(v explore.Violation) bool { return v.Anomaly == scenarios.AnsweredWithoutCharge })
		if found != leaks || !r.Complete {
			t.Errorf("%s: %+v", s.Name, r.Violations)
		}
	}
}
