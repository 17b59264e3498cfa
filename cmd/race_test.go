package cmd

import (
	"slices"
	"testing"

	"idemlab/internal/race"
	"idemlab/results"
	"idemlab/scenarios"
)

// What a server lacks is no fault of the strategy: it is left out with the reason, and the others run.
func TestStrategyThatTheServerLacksIsSkipped(t *testing.T) {
	later := scenarios.InsertFirst
	later.Name, later.MinServer = "of-tomorrow", 15
	options := []race.Options{{Strategy: scenarios.CheckThenAct}, {Strategy: later}}
	for version, want := range map[int]string{149999: "needs PostgreSQL 15 or later, and this is 14", 150000: "", 180004: ""} {
		can, skipped := able(options, version)
		if len(can)+len(skipped) != 2 || can[0].Strategy.Name != scenarios.CheckThenAct.Name {
			t.Fatalf("%d: %d run, %v skipped", version, len(can), skipped)
		}
		if got := slices.ContainsFunc(skipped, func(s results.Skipped) bool { return s.Strategy == later.Name && s.Reason == want }); got != (want != "") {
			t.Errorf("%d: skipped %v, want %q", version, skipped, want)
		}
	}
	if can, skipped := able(options[1:], 140000); len(can) != 0 || len(skipped) != 1 {
		t.Errorf("%d run, %v skipped", len(can), skipped)
	}
}
