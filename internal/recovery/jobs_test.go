package recovery_test

import (
	"os"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/explore"
	"idemlab/internal/recovery"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// beside explores a strategy beside the job of that name.
func beside(t *testing.T, s scenarios.Strategy, job string, o explore.Options) results.Run {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range recovery.Jobs() {
		if j.Name == job {
			o.Others = append(o.Others, j)
		}
	}
	o.Strategy, o.AttemptsPerSession, o.Isolation, o.Seed = s, 2, pgx.ReadCommitted, 1
	c := explore.Case{Scenario: s.Scenario(), Options: o, DDL: string(ddl), Expect: check.ExpectClaim}
	r, err := c.Run(t.Context(), servertest.Server(t))
	if err != nil || len(o.Others) != 1 {
		t.Fatal(job, err)
	}
	return r
}

// In every order of events the reconciler does no harm beside attempts that live, and the eager one has somebody charged twice. That each
// is as expected is the job's own claim.
func TestEveryOrderBesideAReconciler(t *testing.T) {
	for _, s := range []scenarios.Strategy{scenarios.InsertFirst, scenarios.IntentThenReconcile} {
		r := beside(t, s, "reconciler", explore.Options{Sessions: 2})
		if r.Verdict != results.Held || r.ExitCode != check.ExitHeld || r.Explore.Coverage != "exhaustive" || !slices.Equal(r.Explore.Beside, []string{"reconciler"}) {
			t.Errorf("%s: %s (%s), %s", s.Name, r.Verdict, r.Reason, r.Explore.Coverage)
		}
	}
	r := beside(t, scenarios.InsertFirst, "eager-reconciler", explore.Options{Sessions: 1})
	if r.Verdict != results.Violated || r.ExitCode != check.ExitHeld || r.Explore.ShortestViolation.Anomaly != string(scenarios.DoubleCharge) {
		t.Errorf("eager: %s (%s), exit %d, %+v", r.Verdict, r.Reason, r.ExitCode, r.Explore.ShortestViolation)
	}
}

// With a death at any moment, of the client or of the reconciler: whatever the acquirer has is recorded, or PROCESSANDO is left for the
// next pass; nobody is charged twice.
func TestEveryOrderBesideAReconcilerWithADeath(t *testing.T) {
	r := beside(t, scenarios.InsertFirst, "reconciler", explore.Options{Sessions: 1, Crashes: 1})
	if r.ExitCode != check.ExitHeld || r.Explore.Coverage != "exhaustive" {
		t.Errorf("%s (%s), exit %d, %s", r.Verdict, r.Reason, r.ExitCode, r.Explore.Coverage)
	}
	mended := false
	for _, o := range r.Explore.Outcomes {
		if slices.Contains(o.Anomalies, string(scenarios.DoubleCharge)) {
			t.Errorf("charged twice: %+v", o)
		}
		mended = mended || *o.Captures == 1 && slices.Contains(o.Answers, string(scenarios.Replayed))
	}
	if !mended {
		t.Errorf("in no order was a client told what its dead attempt had paid for: %+v", r.Explore.Outcomes)
	}
}
