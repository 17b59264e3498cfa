package race

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// One control is enough for races of a kind: the second race says that it is the first's, and is believed. At another level, or
// in another scenario, it takes another.
func TestControlsAreForcedOnceForEachKind(t *testing.T) {
	c := NewControls()
	o := small(t, scenarios.InsertFirst)
	o.Controls, o.Rounds = c, 1
	first, wider := run(t, o), o
	wider.Attempts, wider.Pool = 6, 3
	second := run(t, wider)
	if first.Control == nil || first.Control.Shared || !first.Control.Caught() {
		t.Errorf("the first control: %+v", first.Control)
	}
	if second.Control == nil || !second.Control.Shared || !second.Control.Caught() || second.Verdict != results.Held {
		t.Errorf("the second, %s: %+v", second.Verdict, second.Control)
	}
	o.Isolation = pgx.RepeatableRead
	if r := run(t, o); r.Control == nil || r.Control.Shared {
		t.Errorf("at another level: %+v", r.Control)
	}
	o = small(t, scenarios.ConditionalUpdate)
	o.Controls, o.Rounds = c, 1
	if r := run(t, o); r.Control == nil || r.Control.Shared || r.Control.Anomaly == "" {
		t.Errorf("in another scenario: %+v", r.Control)
	}
}

// A control that was not caught convinces nobody the second time either.
func TestSharedControlThatHeldIsNoControl(t *testing.T) {
	c := NewControls()
	o := small(t, scenarios.InsertFirst)
	o.Scenario.Control, o.Controls, o.Rounds = scenarios.InsertFirst, c, 1
	for n := range 2 {
		if r := run(t, o); r.Verdict != results.Inconclusive || !strings.Contains(r.Reason, "control") || r.Control.Shared != (n > 0) {
			t.Errorf("race %d: %s (%s), control %+v", n+1, r.Verdict, r.Reason, r.Control)
		}
	}
}

// What could not be forced is not remembered as if it had been.
func TestControlThatFailedIsTriedAgain(t *testing.T) {
	c := NewControls()
	o := small(t, scenarios.InsertFirst)
	o.Controls, o.Rounds = c, 1
	broken := o
	broken.Scenario.Control.New = func(scenarios.Env) scenarios.Handler {
		return func(context.Context, scenarios.DB, scenarios.Acquirer, scenarios.Request) (scenarios.Response, error) {
			return scenarios.Response{}, errors.New("not today")
		}
	}
	if _, err := Run(t.Context(), servertest.Server(t), broken); err == nil {
		t.Fatal("a control that cannot answer was forced")
	}
	if r := run(t, o); r.Control == nil || r.Control.Shared || r.Verdict != results.Held {
		t.Errorf("%s, control %+v", r.Verdict, r.Control)
	}
}
