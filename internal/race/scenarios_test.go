package race

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// On one server the unsafe way to debit loses money and the safe ones do not, by arithmetic that needs no checker.
func TestDebitBothWays(t *testing.T) {
	for _, s := range scenarios.Debit.Strategies() {
		t.Run(s.Name, func(t *testing.T) {
			r := run(t, small(t, s))
			m := r.Counts.Measures
			lost := m["closing_cents"] - (m["opening_cents"] - m["debited_cents"])
			if m["unaccounted_cents"] != lost || m["debited_cents"] != int64(r.Answers["charged"])*amountCents || r.Answers["charged"] == 0 {
				t.Errorf("the books do not agree with themselves: %v, answers %v", m, r.Answers)
			}
			if bad := s.Name == scenarios.ReadThenWrite.Name; bad != (lost > 0) || bad != (r.Verdict == results.Violated) {
				t.Errorf("%s with %d cents overwritten: %s", r.Verdict, lost, r.Reason)
			} else if !bad && (r.Control == nil || r.Control.Anomaly != string(scenarios.LostUpdate)) {
				t.Errorf("control %+v", r.Control)
			}
			nothingOfTheAcquirer(t, r)
		})
	}
}

// What is no part of a scenario is absent from its document, not zero.
func nothingOfTheAcquirer(t *testing.T, r results.Run) {
	t.Helper()
	if r.Counts.AcquirerCounts != nil || r.Counts.IntentsCharged != nil || r.Settings.AcquirerSettings != nil || r.Followups != nil {
		t.Errorf("counts %+v, settings %+v, follow-ups %v", r.Counts, r.Settings, r.Followups)
	}
	for i, round := range r.Rounds {
		if round.RoundCharges != nil || round.Intents == 0 || *round.IntentsViolated > round.Intents {
			t.Errorf("round %d: %+v", i+1, round)
		}
	}
	if r.Control != nil && r.Control.ForcedCharge != nil {
		t.Errorf("control %+v", r.Control)
	}
	if _, ok := r.Answers["replayed"]; ok {
		t.Errorf("answers %v", r.Answers)
	}
	for _, a := range r.Anomalies {
		if a.Captures != nil {
			t.Errorf("%+v", a)
		}
	}
}

// PUT and DELETE, repeated and raced, end as after one; POST does not.
func TestResourceBothWays(t *testing.T) {
	for _, c := range []struct {
		s       scenarios.Strategy
		each    func(attempts int64) int64 // resources that an intent leaves
		verdict results.Verdict
	}{
		{scenarios.Put, func(int64) int64 { return 1 }, results.Held},
		{scenarios.Delete, func(int64) int64 { return 0 }, results.Held},
		{scenarios.Post, func(n int64) int64 { return n }, results.Violated},
	} {
		t.Run(c.s.Name, func(t *testing.T) {
			o := small(t, c.s)
			r := run(t, o)
			if r.Verdict != c.verdict || r.Counts.Measures["resources"] != 6*c.each(int64(o.Attempts)) {
				t.Errorf("%s (%s), %v, answers %v", r.Verdict, r.Reason, r.Counts.Measures, r.Answers)
			}
			if c.s.Name == scenarios.Delete.Name && (r.Answers["done"] != 6 || r.Answers["not_found"] != 6*(o.Attempts-1)) {
				t.Errorf("answers %v: one of each intent's finds it, the others nothing", r.Answers)
			}
			nothingOfTheAcquirer(t, r)
		})
	}
}

// Two tenants with one key: by the acquirer's own count, each is charged once, or one of them is not; in one process and in two.
func TestTwoTenantsBothWays(t *testing.T) {
	for _, s := range scenarios.TwoTenants.Strategies() {
		for _, instances := range []int{1, 2} {
			o := small(t, s)
			o.Instances = instances
			r := run(t, o)
			safe := s.Name == scenarios.KeyPerTenant.Name || s.Name == scenarios.TenantInKey.Name
			captures, verdict := 6, results.Violated
			if safe {
				captures, verdict = 12, results.Held
			}
			n := r.Counts.AcquirerCounts
			if r.Verdict != verdict || r.ExitCode != 0 || n.Captures != captures || n.DuplicateCaptures != 0 || n.IntentsDoubleCharged != 0 ||
				n.OwedCents != int64(captures)*amountCents || *n.Rows != captures || *n.DuplicateRows != 0 {
				t.Errorf("%s, %d instances: %s (%s), exit %d, %+v", s.Name, instances, r.Verdict, r.Reason, r.ExitCode, n)
			}
			if safe && (r.Control == nil || r.Control.Anomaly != string(scenarios.MissingCharge) || r.Control.ForcedCharge != nil) {
				t.Errorf("%s: control %+v", s.Name, r.Control)
			}
		}
	}
}

// A control that holds is said not to have been caught.
func TestControlOfTwoTenantsThatHolds(t *testing.T) {
	o := small(t, scenarios.KeyPerTenant)
	o.Scenario.Control = scenarios.TenantInKey
	r := run(t, o)
	if r.Verdict != results.Inconclusive || !strings.Contains(r.Reason, "the control tenant-in-key was not caught") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}

// Every scenario's control is caught at every level by force alone: without it nothing could ever be held there.
func TestEveryControlIsCaught(t *testing.T) {
	for _, c := range scenarios.Scenarios() {
		for _, level := range []pgx.TxIsoLevel{pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable} {
			o := small(t, c.Control)
			o.Isolation = level
			for range 3 { // what depends on luck would show
				got, err := Control(t.Context(), servertest.Server(t), o)
				if err != nil || !got.Caught() || got.Strategy != c.Control.Name {
					t.Errorf("%s at %s: %+v, %v", c.Name, level, got, err)
				}
			}
		}
	}
}

// And one that cannot be caught is said not to have been.
func TestControlOfDebitThatHolds(t *testing.T) {
	o := small(t, scenarios.Version)
	o.Scenario.Control = scenarios.ConditionalUpdate
	r := run(t, o)
	if r.Verdict != results.Inconclusive || !strings.Contains(r.Reason, "the control conditional-update was not caught") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}

// Retries are counted, and a bound on them costs answers, never money.
func TestRetriesAreCounted(t *testing.T) {
	o := small(t, scenarios.Version)
	o.Attempts, o.Pool = 30, 30
	r := run(t, o)
	if r.Verdict != results.Held || r.Counts.Measures["retries"] == 0 {
		t.Errorf("%s, %v, answers %v", r.Verdict, r.Counts.Measures, r.Answers)
	}
}
