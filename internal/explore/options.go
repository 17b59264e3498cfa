package explore

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// The searches.
const (
	DPOR   = "dpor"   // one order per class of orders that cannot be told apart
	Full   = "full"   // every order
	Random = "random" // seeded walks, which prove nothing
)

// Options say what is explored and how far.
type Options struct {
	Strategy scenarios.Strategy
	Scenario scenarios.Scenario // the zero value means the strategy's own
	// Others are jobs that run beside the clients, each in a session of its own after theirs: a purger, a reconciler.
	Others []scenarios.Job

	Sessions           int // clients, each with one connection and the same key; 1 to 4
	AttemptsPerSession int // a client whose attempt died or was told Failed tries again, this often in all
	Instances          int // over which the sessions are dealt; each calls Strategy.New once per schedule, and once more after each death. 0 means 1
	Crashes            int // deaths of sessions, at most, in one schedule
	LostReplies        int // lost requests to the acquirer and lost replies of it, at most, in one schedule
	// Lease is Env.Lease; 0: each strategy's own. One microsecond to RunOut, or at least Lasting.
	Lease time.Duration
	Hard  bool // a death closes the socket; otherwise it rolls back on the same connection

	// Prepare runs before each schedule, after the strategy's own: for rows that Others expect to find. It may be nil.
	Prepare func(context.Context, *pgx.Conn, scenarios.Request) error

	Search       string              // DPOR, Full or Random; empty means DPOR
	Isolation    pgx.TxIsoLevel      // default of the sessions; empty: the server's
	NoSplit      bool                // a write outside a transaction is one step: faster, and blind to what happens before it is visible
	OwnCluster   bool                // the server is ours alone and local: its backends may be stopped, its settings changed
	Poll         bool                // look for waits every millisecond, even where PostgreSQL would tell
	Budget       time.Duration       // 0: none
	MaxSchedules int                 // 0: none
	Enough       []scenarios.Anomaly // end the search when each of these was found: for bad examples, of which no more is asked
	Seed         uint64              // of Random, and of the strategy's Env
	Progress     *atomic.Int64       // counts executions, if not nil

	patience time.Duration     // with a session that neither comes back nor is proved to wait; tests have less
	relation schedule.Relation // which steps depend on each other; tests break it
}

// mostSessions is where even reduced searches end within no one's patience.
const mostSessions = 4

// Clients is how many it takes, at the least, for what a scenario is about to happen to two of one kind. With a fault it is two: whose
// attempt has died, or was told nothing, tries again.
func Clients(c scenarios.Scenario, faults int) int {
	if faults > 0 {
		return 2
	}
	return c.Least()
}

// Defaults is the usual exploration of a strategy: two clients that try twice, no faults.
func Defaults(s scenarios.Strategy) Options {
	return Options{Strategy: s, Sessions: 2, AttemptsPerSession: 2, Search: DPOR, Seed: 1}
}

func (o *Options) check() error {
	switch {
	case o.Strategy.New == nil:
		return errors.New("explore: no strategy given")
	case o.Sessions < 1 || o.Sessions > mostSessions:
		return fmt.Errorf("explore: %d sessions: give 1 to %d", o.Sessions, mostSessions)
	case o.AttemptsPerSession < 1:
		return fmt.Errorf("explore: %d attempts per session: give 1 or more", o.AttemptsPerSession)
	case o.Crashes < 0 || o.LostReplies < 0 || o.MaxSchedules < 0 || o.Budget < 0:
		return errors.New("explore: crashes, lost replies, budget and the most schedules cannot be negative")
	case o.Lease != 0 && o.Lease < time.Microsecond || RunOut < o.Lease && o.Lease < Lasting: // PostgreSQL's times have microseconds
		return fmt.Errorf("explore: a lease of %s: give 1µs to %s, for leases that have run out, or at least %s, for leases that last", o.Lease, RunOut, Lasting)
	}
	if o.Scenario.Check == nil {
		o.Scenario = o.Strategy.Scenario()
	}
	o.Instances = max(o.Instances, 1)
	if o.patience == 0 {
		o.patience = patience
	}
	if o.relation == nil {
		o.relation = schedule.Depend
	}
	if o.Search == "" {
		o.Search = DPOR
	}
	if o.Search == Random && o.Budget == 0 && o.MaxSchedules == 0 {
		return errors.New("explore: random walks never end: give a budget or a number of schedules")
	}
	return nil
}
