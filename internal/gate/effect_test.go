package gate

import (
	"testing"

	"idemlab/results"
)

// A run whose settings name no effect is one of captures.
func TestAnEffectThatIsNotNamedIsTheCapture(t *testing.T) {
	for _, c := range []struct {
		effect, expr string
		want         results.GateOutcome
	}{
		{"", "settings.effect==capture", results.GateFailed}, {"", "settings.effect!=capture", results.GatePassed},
		{"", "settings.effect==email", results.GatePassed}, {"", "settings.effect!=email", results.GateFailed},
		{"email", "settings.effect==capture", results.GatePassed}, {"email", "settings.effect==email", results.GateFailed},
	} {
		g, err := on(t, charge).Parse(c.expr)
		if err != nil {
			t.Fatal(err)
		}
		run := results.Run{Engine: "race", Status: results.Complete, Settings: &results.Settings{Effect: c.effect}}
		judged, err := Judge([]Gate{g}, run, charge)
		if err != nil || len(judged) != 1 || judged[0].Outcome != c.want || run.Settings.Effect != c.effect {
			t.Errorf("%q, %s: %+v, %v; want %s", c.effect, c.expr, judged, err, c.want)
		}
	}
}
