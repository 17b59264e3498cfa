package expiry

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/results"
	"idemlab/scenarios"
)

// Purge says what is purged.
type Purge string

// What may be.
const (
	Finished   Purge = "finished"
	Everything Purge = "everything" // unfinished claims, too: purge.Options.Careless
	Nothing    Purge = "nothing"
)

// Purges lists every Purge.
func Purges() []Purge { return []Purge{Finished, Everything, Nothing} }

// Options say what is to happen. All fields but those marked optional must be set.
type Options struct {
	Strategy                    scenarios.Strategy // of a scenario with an acquirer
	Answered, Unfinished, Fresh int                // intents: results.ExpirySettings
	Lifetime, RetryAfter        time.Duration
	Purge                       Purge
	Batch                       int
	Isolation                   pgx.TxIsoLevel
	Acquirer                    acquirer.Options
	Seed                        uint64
	Expect                      check.Expectation
	DDL                         string // of schema.sql or what stands for it
	Keep                        bool   // leave the schema behind

	Control *results.Control    // what the control came to on this server
	Done    *atomic.Int64       // counts intents that were tried. Optional.
	Kept    func(schema string) // is told the name of the schema that Keep left behind. Optional.
}

// Connections is how many the run holds at the most: the attempts that are unfinished, one more, the schema's lock, who looks on, and the
// purger.
func (o Options) Connections() int { return o.Unfinished + 5 }

// Intents is how many there are.
func (o Options) Intents() int { return o.Answered + o.Unfinished + o.Fresh }

// expired says whether keys have had their time when their clients come again.
func (o Options) expired() bool { return o.Lifetime < o.RetryAfter && o.Purge != Nothing }

// claims is what must never be found and what must.
func (o Options) claims() (never, shows []scenarios.Anomaly) {
	money := []scenarios.Anomaly{scenarios.DoubleCharge, scenarios.ChargedWithoutRecord, scenarios.AnsweredWithoutCharge, scenarios.DivergentAnswers}
	promised, _ := o.Strategy.Judged(scenarios.Race, o.Isolation)
	switch {
	case o.Acquirer.Dedup && !o.Strategy.WantsDedup: // what strategies show of themselves, they show without it
		return money[:1], nil
	case o.expired():
		return o.Strategy.Judged(scenarios.Purge, o.Isolation)
	case o.Unfinished > 0 && !slices.Contains(promised, scenarios.DoubleCharge): // their clients meet an attempt under way
		return nil, money[:1]
	}
	return slices.DeleteFunc(money, func(a scenarios.Anomaly) bool { // of what it answers again, a strategy promises as much as it does in a race
		return a != scenarios.DoubleCharge && !slices.Contains(promised, a)
	}), nil
}
