package report

import (
	"strings"
	"testing"

	"idemlab/results"
)

// A run that was cut off says so once, and the last line does not call it held.
func TestInterruptedIsSaidOnce(t *testing.T) {
	for want, r := range map[string]results.Run{
		"s: inconclusive (interrupted), what is above was measured until then":                               {Verdict: results.Inconclusive, Reason: "interrupted"},
		"s: violated (double_charge), interrupted: what is above was measured until then":                    {Verdict: results.Violated, Reason: "double_charge"},
		"s: inconclusive (stopped after 2 of 6 intents), interrupted: what is above was measured until then": {Verdict: results.Inconclusive, Reason: "stopped after 2 of 6 intents"},
	} {
		r.Strategy, r.Engine, r.Status, r.ExitCode = "s", "race", results.Aborted, 130
		d := results.Document{Format: results.Format, Verdict: r.Verdict, ExitCode: 130, Runs: []results.Run{r}}
		got := text(t, d, Style{Width: 120})
		if last := "verdict: interrupted; what was measured until then is " + string(r.Verdict); !strings.Contains(got, want+"\n") || lastLine(got) != last {
			t.Errorf("want %q and %q in\n%s", want, last, got)
		}
	}
}
