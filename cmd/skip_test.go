package cmd

import (
	"slices"
	"testing"

	"idemlab/results"
	"idemlab/scenarios"
)

// What a server lacks is no fault of the strategy: it is left out with the reason, and the others run.
func TestStrategyThatTheServerLacksIsSkipped(t *testing.T) {
	later := scenarios.InsertFirst
	later.Name, later.MinServer = "of-tomorrow", 15
	itself := func(s scenarios.Strategy) scenarios.Strategy { return s }
	work := []scenarios.Strategy{later, scenarios.CheckThenAct, later}
	for version, want := range map[int][]results.Skipped{
		149999: {{Strategy: later.Name, Reason: "needs PostgreSQL 15 or later, and this is 14"}},
		150000: nil,
		180004: nil,
	} {
		can, skipped := split(work, itself, version)
		if !slices.Equal(skipped, want) || len(can) != 3-2*len(want) {
			t.Errorf("%d: %d run, skipped %v, want %v", version, len(can), skipped, want)
		}
	}
	if can, skipped := split(work[:1], itself, 140000); len(can) != 0 || len(skipped) != 1 {
		t.Errorf("%d run, %v skipped", len(can), skipped)
	}
}
