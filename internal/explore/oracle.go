package explore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"idemlab/scenarios"
)

// errOracle says that the two judges differ: one of them is wrong, and nothing the run says can be believed.
var errOracle = errors.New("the oracle (Porcupine) and the invariants differ")

// secondOpinion asks Porcupine whether what the clients saw, and what was left, could have come from a service that takes one
// request after another, and compares with what the invariants say of the same. They know nothing of each other.
func (w *world) secondOpinion(o Outcome) error {
	m := w.e.o.Scenario.Model
	if m == nil {
		return nil
	}
	legal := porcupine.CheckOperations(sequential(*m, o.intent), w.history())
	seen := slices.ContainsFunc(o.Anomalies, func(a scenarios.Anomaly) bool { return slices.Contains(m.Sees, a) })
	if legal == seen {
		return fmt.Errorf("%w: history legal: %v, anomalies: %v, outcome: %s", errOracle, legal, o.Anomalies, o.detail)
	}
	return nil
}

// audit is the operation that closes a history: a look at what was left.
type audit struct{}

// history is every attempt of every client, and the audit. An attempt that died may have done its work, or not.
func (w *world) history() []porcupine.Operation {
	end := len(w.trace) + 1
	var h []porcupine.Operation
	for _, s := range w.sessions {
		if !s.client { // it may have done anything, at any time
			h = append(h, operation(s.id, scenarios.Attempt{Died: true}, 0, end))
			continue
		}
		from := 0
		for _, t := range s.outcomes() {
			if t.turn == 0 {
				t.turn = end
			}
			h = append(h, operation(s.id, t.Attempt, from, t.turn))
			from = t.turn + 1
		}
	}
	return append(h, porcupine.Operation{ClientId: len(w.sessions), Output: audit{}, Call: int64(2*end + 2), Return: int64(2*end + 3)})
}

func operation(client int, a scenarios.Attempt, from, to int) porcupine.Operation {
	return porcupine.Operation{ClientId: client, Output: a, Call: int64(2 * from), Return: int64(2*to + 1)}
}

// sequential is the scenario's model in Porcupine's terms.
func sequential(m scenarios.Model, in scenarios.Intent) porcupine.Model {
	p := porcupine.NondeterministicModel{
		Init: func() []any { return []any{m.Init(in)} },
		Step: func(state, _, output any) []any {
			if a, ok := output.(scenarios.Attempt); ok {
				return m.Attempt(state, a)
			}
			if m.End(state, in) {
				return []any{state}
			}
			return nil
		},
	}
	return p.ToModel()
}
