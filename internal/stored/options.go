package stored

import (
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/attempt"
	"idemlab/internal/check"
	"idemlab/results"
	"idemlab/scenarios"
)

// outcome is one way for a first attempt to end.
type outcome struct {
	name    string
	befalls attempt.Befalls
	decline bool
}

// outcomes lists them. To the service the last three are one and the same: it was told nothing.
func outcomes() []outcome {
	return []outcome{
		{"approved", attempt.Nothing, false},
		{"declined", attempt.Nothing, true},
		{"error-before", attempt.ErrorBefore, false},
		{"error-after", attempt.ErrorAfter, false},
		{"lost-reply", attempt.LostReply, false},
	}
}

// Intents is how many a run has.
const Intents = 5

// Connections is how many a run holds at the most: one attempt, the schema's lock, and who looks on.
const Connections = 4

// Options say what is to happen. All fields but those marked optional must be set.
type Options struct {
	Policy    scenarios.StorePolicy
	Isolation pgx.TxIsoLevel
	Seed      uint64
	Expect    check.Expectation
	DDL       string // of schema.sql or what stands for it
	Columns   bool   // try the types of columns, too

	Control *results.Control // what the control came to on this server
	Done    *atomic.Int64    // counts intents that were tried. Optional.
}

// claims is what the policy says of one key, whatever the acquirer's answer is lost to. A fresh key is another wish to pay, and nobody
// claims anything of it.
func (o Options) claims() (never, shows []scenarios.Anomaly) {
	never, shows = o.Policy.Strategy.Judged(scenarios.LostReply, o.Isolation)
	other := func(a scenarios.Anomaly) bool { return a != scenarios.DoubleCharge }
	return slices.DeleteFunc(slices.Clone(never), other), slices.DeleteFunc(slices.Clone(shows), other)
}
