package explore

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"

	"idemlab/internal/check"
	"idemlab/scenarios"
)

// errOracle says that the two judges differ: one of them is wrong, and nothing the run says can be believed.
var errOracle = errors.New("the oracle (Porcupine) and the invariants differ")

// secondOpinion asks Porcupine whether what the clients and the acquirer saw could have come from a service that charges
// once, and compares with what the invariants say of the same. They know nothing of each other.
func (w *world) secondOpinion(o Outcome) error {
	legal := porcupine.CheckOperations(chargeOnce(), w.history(o))
	charged := slices.ContainsFunc(o.Anomalies, func(a scenarios.Anomaly) bool {
		return a == scenarios.DoubleCharge || a == scenarios.AnsweredWithoutCharge || a == scenarios.DivergentAnswers
	})
	if legal == charged {
		return fmt.Errorf("%w: history legal: %v, anomalies: %v, outcome: %s", errOracle, legal, o.Anomalies, o.detail)
	}
	return nil
}

// audit is the operation that closes a history: how often the acquirer moved money.
type audit struct{ captures int }

// history is every attempt of every client, and the audit. An attempt that died may have done its work, or not.
func (w *world) history(o Outcome) []porcupine.Operation {
	end := len(w.trace) + 1
	var h []porcupine.Operation
	for _, s := range w.sessions {
		if !s.client { // it may have done anything, at any time
			h = append(h, operation(s.id, check.Attempt{Died: true}, 0, end))
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
	return append(h, porcupine.Operation{ClientId: len(w.sessions), Output: audit{o.Captures}, Call: int64(2*end + 2), Return: int64(2*end + 3)})
}

func operation(client int, a check.Attempt, from, to int) porcupine.Operation {
	return porcupine.Operation{ClientId: client, Output: a, Call: int64(2 * from), Return: int64(2*to + 1)}
}

// service is the state of the sequential service: whether money moved, and the one final answer, once somebody was told it.
type service struct {
	charged, final bool
	http           int
	body           string
}

// chargeOnce is a service that takes one request after another, moves the money at most once, and gives every client the
// same final answer. What a client is told that is not final (409, 5xx, nothing) says nothing of whether the money moved.
func chargeOnce() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{service{}} },
		Step: func(state, _, output any) []any {
			s := state.(service)
			switch out := output.(type) {
			case audit:
				return s.audited(out)
			case check.Attempt:
				return s.attempted(out)
			}
			return nil
		},
	}
	return m.ToModel()
}

func (s service) audited(a audit) []any {
	if a.captures > 1 || (a.captures == 1) != s.charged {
		return nil
	}
	return []any{s}
}

func (s service) attempted(a check.Attempt) []any {
	final := a.Answer == scenarios.Charged || a.Answer == scenarios.Replayed || a.Answer == scenarios.Declined
	if a.Died || !final {
		moved := s
		moved.charged = true
		return []any{s, moved}
	}
	if s.final {
		if s.http != a.HTTP || s.body != a.Body {
			return nil
		}
		return []any{s}
	}
	money := a.HTTP >= 200 && a.HTTP < 300
	if !money && s.charged || a.Answer == scenarios.Replayed && money && !s.charged {
		return nil // told "no" after money moved; told "again" before there was a first time
	}
	return []any{service{money, true, a.HTTP, a.Body}}
}
