// Package race fires N concurrent attempts at one payment intent after another and counts what the acquirer was told to do.
//
// Attempts are dealt over the instances of the service, park at one gate and are let go together; each answers once. The run
// proves that they overlapped, and that on this very server a double charge would have been seen (the control): a race that
// proves neither is inconclusive, never held.
package race

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/lockwait"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/results"
	"idemlab/scenarios"
)

// Overhead is how many connections a race holds beside its pools: the schema's lock, the sampler, and one to prepare and read.
const Overhead = 3

// Options say what to race. All fields but those marked optional must be set.
type Options struct {
	Scenario scenarios.Scenario
	Strategy scenarios.Strategy

	Attempts       int // per intent
	Intents        int // per round
	Rounds         int
	Instances      int // operating-system processes; 1 is this one
	Pool           int // connections of each instance
	Isolation      pgx.TxIsoLevel
	Acquirer       acquirer.Options
	Effect         scenarios.Effect // what attempts ask of it; an e-mail they send over SMTP
	AttemptTimeout time.Duration
	Lease          time.Duration // of strategies that lease; 0 is each one's own
	Seed           uint64
	Expect         check.Expectation

	DDL  string // of schema.sql or what stands for it
	Keep bool   // leave the schema behind

	// Child is the command line that makes this program answer as one more instance (ServeInstance). Needed for Instances > 1.
	Child []string
	// Controls remembers the controls of races that were run before on the same server, so that one is enough for all of a kind.
	// With it every race has one, since it costs nothing. Optional: without it each race forces its own, where it wants one.
	Controls *Controls
	// Done counts intents that have ended, for whoever shows progress. Optional.
	Done *atomic.Int64
	// Kept is told the name of the schema that Keep left behind. Optional.
	Kept func(schema string)
}

func (o Options) hazard() scenarios.Hazard {
	if o.Instances > 1 {
		return scenarios.Instances
	}
	return scenarios.Race
}

// ErrServerLost says that the server went away or failed during the race. What was measured until then is in the result.
var ErrServerLost = errors.New("PostgreSQL went away or failed")

// Run races one strategy. The result is worth reading on an error too: where the context ended (Status Aborted, no error), or
// the connection was lost (ErrServerLost), it holds what was measured until then.
func Run(ctx context.Context, srv *server.Server, o Options) (run results.Run, err error) {
	o.Acquirer.Dedup = o.Acquirer.Dedup || o.Strategy.WantsDedup
	run = describe(srv, o)
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()

	never, shows := o.Strategy.Judged(o.hazard(), o.Isolation)
	if o.Controls != nil || wantsControl(o.Expect, never, shows) {
		control, err := o.Controls.force(ctx, srv, o)
		if err != nil {
			return check.Ended(ctx, run, fmt.Errorf("control: %w", err))
		}
		run.Control = &control
	}
	ev, err := o.measure(ctx, srv)
	if err != nil && ev == nil {
		return check.Ended(ctx, run, err)
	}
	ev.fill(&run)
	if ev.givenUp() > 0 { // what befell the attempts was more than a race
		never, shows = o.Strategy.Judged(scenarios.LostReply, o.Isolation)
	}
	verdict(&run, o, never, shows, ev)
	return check.Ended(ctx, run, err)
}

// wantsControl says whether the run may end as held, which is to be believed only after a control has failed: it may unless all
// that is claimed is what must be found.
func wantsControl(expect check.Expectation, never, shows []scenarios.Anomaly) bool {
	return expect == check.ExpectHeld || len(never) > 0 || len(shows) == 0
}

// measure makes the tables, opens the instances, races every intent and reads back what is left. On an error the evidence is
// nil where nothing was measured.
func (o Options) measure(ctx context.Context, srv *server.Server) (_ *evidence, err error) {
	schema, err := tables.Create(ctx, srv, o.DDL, o.Strategy)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, o.leave(ctx, schema)) }()

	acq := acquirer.New(o.Acquirer)
	team, err := assemble(ctx, o, srv, schema, acq)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, team.close()) }()
	if err := team.warmUp(ctx); err != nil {
		return nil, err
	}

	sampler, err := lockwait.Start(ctx, schema.Config(), appName(schema))
	if err != nil {
		return nil, err
	}
	ev := &evidence{options: o}
	raceErr := ev.race(ctx, schema, team)
	samples, sampleErr := sampler.Stop()
	ev.samples, ev.ledger, ev.tenants = samples, acq.Counts(), acq.Tenants()
	if raceErr != nil {
		sampleErr = nil // the same lost server, said once
	}
	rowsErr := ev.readRows(ctx, schema)
	if raceErr != nil {
		rowsErr = nil
	}
	return ev, errors.Join(raceErr, sampleErr, rowsErr)
}

// leave drops the schema, or keeps it and says so. It runs after Ctrl-C too, within a limit of its own.
func (o Options) leave(ctx context.Context, schema *server.Schema) error {
	if o.Keep {
		schema.Keep()
		if o.Kept != nil {
			o.Kept(schema.Name())
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return schema.Drop(last)
}

// appName marks the attempts' connections, so that the sampler sees them and nobody else's.
func appName(schema *server.Schema) string { return schema.Name() + " attempts" }
