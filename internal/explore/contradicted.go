package explore

import (
	"fmt"
	"slices"

	"idemlab/results"
	"idemlab/scenarios"
)

// Contradicted weighs what a race of the same clients, each with one request and nothing after it, has shown: in so many intents of all
// the customer was charged twice. Where a search that says to be exhaustive has no order with a double charge, one of the two is wrong,
// and it is not the acquirer's ledger: the run then proves nothing, as where the search has missed what another search met. A run that
// proves nothing anyhow has said why, and that may be what the race has shown.
//
// Nothing else is compared. A race has other ends that no order of the search has, for good reasons; but two clients that are both charged
// in a race are two clients that were in some order. Instances are left out, because the race has one.
func (c Case) Contradicted(run *results.Run, chargedTwice, intents int) {
	e := run.Explore
	if chargedTwice == 0 || run.Verdict == results.Inconclusive || e.Coverage != "exhaustive" || c.Schedule != nil || c.Options.Instances > 1 ||
		slices.ContainsFunc(e.Violations, func(v results.Violation) bool { return v.Anomaly == string(scenarios.DoubleCharge) }) {
		return
	}
	e.Coverage = "cut"
	never, shows := c.claims()
	run.Anomalies, e.ShortestViolation = []results.Anomaly{}, nil
	c.judge(run, never, shows, fmt.Sprintf("a race has shown what the search says cannot happen: %d of %d intents were charged twice; %s",
		chargedTwice, intents, whyContradicted(*e)))
}

// whyContradicted says where to look first: what the search has said itself not to see comes before a fault of its own.
func whyContradicted(e results.Explore) string {
	switch {
	case e.ReadsClock:
		return "the strategy asks what time it is, and a lease or a deadline can run out in a race and not in the search"
	case !e.Split:
		return "the search took a write and its becoming visible as one step: search again without --no-split"
	case e.WholeCommits:
		return "the search took a COMMIT's decision and its becoming visible as one step, which only a server that the lab starts itself can show apart"
	}
	return "this is a fault of the search, unless attempts share what is neither in PostgreSQL nor in Env, such as a variable of their instance"
}
