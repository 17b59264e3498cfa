package explore_test

import (
	"testing"

	"idemlab/scenarios"
)

// Strategies whose authors did not know the explorer: each can be put into an order, and none is known here by name.
func TestEveryStrategyCanBeExplored(t *testing.T) {
	for _, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			o := options(s)
			o.MaxSchedules = 40
			r := run(t, o)
			if r.Inconclusive != "" || r.Divergences > 0 || r.Schedules == 0 {
				t.Errorf("%d schedules, %d divergences, %s", r.Schedules, r.Divergences, r.Inconclusive)
			}
			t.Logf("%d schedules (%s), %d outcomes, %s", r.Schedules, r.Coverage(), len(r.Keys()), r.Duration)
		})
	}
}
