package orphans

import (
	"idemlab/internal/attempt"
	"idemlab/results"
)

// groups adds the intents up by what befell their first attempts and by when their clients came again.
func (d *demo) groups() []results.RecoveryGroup {
	ledger := d.lab.Acquirer.Counts()
	groups := []results.RecoveryGroup{}
	for _, c := range d.cases {
		retry := "after"
		if c.early {
			retry = "before"
		}
		last := len(groups) - 1
		if last < 0 || groups[last].Befalls != string(c.befalls) || groups[last].Retry != retry {
			groups = append(groups, results.RecoveryGroup{Befalls: string(c.befalls), Retry: retry, Told: map[string]int{}, Later: map[string]int{}})
			last++
		}
		g := &groups[last]
		g.Intents++
		captures := ledger[c.Request.Key].Captures
		g.Captures += captures
		if captures > 1 {
			g.DoubleCharged++
		}
		attempt.CountAnswer(g.Told, c.told)
		attempt.CountAnswer(g.Later, c.later)
	}
	return groups
}
