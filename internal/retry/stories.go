package retry

import (
	"fmt"
	"slices"

	"idemlab/results"
	"idemlab/scenarios"
)

// mostStories bounds how many intents are told of from the first tap to the end.
const mostStories = 20

// stories are those of the intents with the worst: what was taken too often, then what nobody knows of, then what took longest to know.
func (r *runner) stories(came []*customer, before, after *snapshot) []results.RetryStory {
	type told struct {
		c     *customer
		worse int
		why   string
	}
	w := r.o.Effect.Words()
	var all []told
	for _, c := range came {
		if worse, why := bad(c, before, after, w); worse > 0 {
			all = append(all, told{c, worse, why})
		}
	}
	slices.SortStableFunc(all, func(a, b told) int { return b.worse - a.worse })
	list := []results.RetryStory{}
	for _, t := range all[:min(mostStories, len(all))] {
		s := story{events: slices.Clone(t.c.story.events)}
		for _, e := range after.ledger[t.c.of.Key] {
			what := "refuses " + e.Receipt.ID
			switch {
			case e.Repeat:
				what = "knows the key, and gives the receipt " + e.Receipt.ID + " again"
			case e.Receipt.Approved:
				what = w.Happens(e.Charge.AmountCents, e.Receipt.ID)
			}
			s.sayAt(e.At, "%s: %s", w.Far, what)
		}
		lines := append(s.lines(), "at the end: "+ending(t.c, after, w))
		list = append(list, results.RetryStory{Intent: t.c.of.Key, OrderID: t.c.of.OrderID, Why: t.why, Lines: lines})
	}
	return list
}

// bad ranks an intent by what befell it, and says so in words; 0 where nothing did.
func bad(c *customer, before, after *snapshot, w scenarios.Words) (worse int, why string) {
	in := after.facts(c)
	lost, _ := before.unrecorded(c)
	switch {
	case in.Captures > 1:
		return 1_000_000 + 1000*in.Captures + len(c.attempts), fmt.Sprintf("%s %d times", w.Charged, in.Captures)
	case lost > 0:
		return 500_000 + len(c.attempts), w.Unknown
	case c.final == nil:
		return 400_000 + len(c.attempts), "no final answer"
	case before.orphaned(c):
		return 300_000 + len(c.attempts), "left half-way"
	case c.settled:
		return 200_000 + len(c.attempts), "a final answer only when the customer came back"
	case len(c.attempts) > 1:
		return len(c.attempts), fmt.Sprintf("%d requests until the last answer", len(c.attempts))
	}
	return 0, ""
}

// ending is how it stands at the end: what the customer was told last, what was taken, what is written down.
func ending(c *customer, after *snapshot, w scenarios.Words) string {
	in := after.facts(c)
	rows := "no row"
	for i, row := range in.Rows {
		if i == 0 {
			rows = "row " + row.Status
			continue
		}
		rows += ", " + row.Status
	}
	return fmt.Sprintf("the customer was told %s; %s; %s", c.told(), w.Came(in.Captures, in.CapturedCents), rows)
}
