package orphans

import (
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/attempt"
	"idemlab/internal/check"
	"idemlab/results"
	"idemlab/scenarios"
)

// Overhead is how many connections a run holds beside its attempts that are held: the schema's lock, who looks on, and one attempt more.
const Overhead = 4

// Reconciler says who reconciles.
type Reconciler string

// The reconcilers.
const (
	Patient Reconciler = "patient" // asks the acquirer, and leaves what it does not know
	Eager   Reconciler = "eager"   // deletes the claim that it does not know: recovery.Options.Eager
	None    Reconciler = "none"    // nobody does
)

// Reconcilers lists every Reconciler.
func Reconcilers() []Reconciler { return []Reconciler{Patient, Eager, None} }

// Befalls lists what can befall a first attempt here.
func Befalls() []attempt.Befalls {
	return []attempt.Befalls{attempt.AfterClaim, attempt.AfterCapture, attempt.AfterRecord, attempt.SlowRequest, attempt.SlowAnswer}
}

// Options say what is to happen. All fields but those marked optional must be set.
type Options struct {
	Strategy   scenarios.Strategy // of a scenario with an acquirer
	Befalls    []attempt.Befalls
	Each       int // intents for each of them and each time of the client's retry
	Reconciler Reconciler
	Lease      time.Duration // of the reconciler, and of strategies that lease
	Deadline   time.Duration // of the reconciler; 0: none
	Isolation  pgx.TxIsoLevel
	Acquirer   acquirer.Options // whose latency is compared with the lease, not waited for
	Seed       uint64
	Expect     check.Expectation
	DDL        string // of schema.sql or what stands for it
	Keep       bool   // leave the schema behind

	Control *results.Control    // what the control came to on this server
	Done    *atomic.Int64       // counts intents that were tried. Optional.
	Kept    func(schema string) // is told the name of the schema that Keep left behind. Optional.
}

// Intents is how many there are.
func (o Options) Intents() int { return 2 * o.Each * len(o.Befalls) }

// Connections is how many the run holds at the most.
func (o Options) Connections() int {
	n := Overhead
	if o.outlasts() {
		for _, b := range o.Befalls {
			if b.Slow() {
				n += 2 * o.Each
			}
		}
	}
	return n
}

// outlasts says whether a call takes longer than a claim is its worker's own.
func (o Options) outlasts() bool { return o.Acquirer.Latency.Mean() > o.Lease }
