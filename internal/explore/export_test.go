package explore

import (
	"context"
	"fmt"
	"time"

	"idemlab/internal/schedule"
)

// Classes are the classes that a run saw, each with its outcomes.
func (r Result) Classes() map[string]map[string]bool { return r.classes }

// Keys are the outcomes that a run saw, told apart as finely as possible.
func (r Result) Keys() map[string]bool { return r.keys }

// Compare says where a reduced run falls short of a full one, or either of itself; empty where it does not.
func Compare(full, reduced Result) string {
	for c, outcomes := range full.classes {
		if len(outcomes) > 1 {
			return fmt.Sprintf("class %s has %d outcomes", c, len(outcomes))
		}
		if reduced.classes[c] == nil {
			return "the reduced run lost the class " + c
		}
		for o := range outcomes {
			if !reduced.classes[c][o] {
				return fmt.Sprintf("class %s came to %s in full, and to %v reduced", c, o, reduced.classes[c])
			}
		}
	}
	for c := range reduced.classes {
		if full.classes[c] == nil {
			return "the reduced run invented the class " + c
		}
	}
	if reduced.Schedules != len(reduced.classes) {
		return fmt.Sprintf("the reduced run made %d schedules of %d classes", reduced.Schedules, len(reduced.classes))
	}
	return ""
}

// Under makes o explore under another relation.
func (o Options) Under(rel schedule.Relation) Options {
	o.relation = rel
	return o
}

// Patient makes o give up on a session sooner.
func (o Options) Patient(d time.Duration) Options {
	o.patience = d
	return o
}

// Proofs are how long it took to prove each wait.
func (r Result) Proofs() []time.Duration { return r.proofs }

// Over says whether the handler has returned whose context this is.
func Over(ctx context.Context) bool {
	a := attemptOf(ctx)
	return a == nil || a.over.Load()
}
