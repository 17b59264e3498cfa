// Package load keeps a strategy under load: clients that ask again as soon as they are answered (a closed loop), or arrivals that
// come whether or not the service keeps up (an open loop). It measures what each answer costs, and what it holds up meanwhile; and
// since every attempt is in the acquirer's ledger, a load run has a verdict like any other.
//
// Which attempt is made for which intent is a pure function of the seed and the attempt's number (plan.go), so that several
// instances need not talk. What is known of an intent is settled as soon as nobody can try it again (book.go): a run of hours keeps
// one byte for each attempt, and the intents that came to something odd.
package load

import (
	"context"
	"errors"
	"fmt"
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

// Overhead is how many connections a load run holds beside its pools: the schema's lock, the sampler, one to read the rows, one to
// stall, and for each instance one to prepare intents.
const Overhead = 5

// Options say what load to make. All fields but those marked optional must be set.
type Options struct {
	Scenario scenarios.Scenario
	Strategy scenarios.Strategy

	Clients     int     // of a closed loop; 0 for an open one
	Rate        float64 // arrivals a second of an open loop, over all instances
	Constant    bool    // the arrivals come evenly, and not by chance (Poisson)
	MaxInFlight int     // of an open loop, each instance: arrivals beyond it are dropped, and counted

	Duration, Warmup time.Duration
	RepeatShare      float64 // of the attempts
	HotShare         float64
	HotKeys          int
	Stall            time.Duration // the table is locked for so long from a third of the duration on; 0 for never

	Instances      int
	Pool           int // connections of each instance
	Isolation      pgx.TxIsoLevel
	Acquirer       acquirer.Options
	AttemptTimeout time.Duration
	Lease          time.Duration // of strategies that lease; 0 is each one's own
	Seed           uint64
	Expect         check.Expectation

	// Control is the violation forced beforehand on this server: without one that was caught nothing is believed to hold. Optional.
	Control *results.Control

	DDL string // of schema.sql or what stands for it

	// Child is the command line that makes this program answer as one more instance (ServeInstance). Needed for Instances > 1.
	Child []string
	// Live is told once a second how it goes, for whoever shows it. Optional.
	Live func(Progress)
}

// Progress is how a run is going.
type Progress struct {
	Elapsed time.Duration // since the first attempt, warm-up included
	Warming bool
	Last    results.Second      // the second that has just passed; Second is 0 during the warm-up
	Total   results.LoadLatency // response times so far
	Dropped int
}

func (o Options) hazard() scenarios.Hazard {
	if o.Instances > 1 {
		return scenarios.Instances
	}
	return scenarios.Race
}

func (o Options) open() bool { return o.Clients == 0 }

// ErrServerLost says that the server went away or failed during the run. What was measured until then is in the result.
var ErrServerLost = errors.New("PostgreSQL went away or failed")

// Run keeps one strategy under load. The result is worth reading on an error too, and where the context ended (Status Aborted, no
// error): it holds what was measured until then.
func Run(ctx context.Context, srv *server.Server, o Options) (run results.Run, err error) {
	o.Acquirer.Dedup = o.Acquirer.Dedup || o.Strategy.WantsDedup
	run = describe(srv, o)
	run.Control = o.Control
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()

	m, err := o.measure(ctx, srv)
	if m != nil {
		m.fill(&run)
		verdict(&run, o, m)
	}
	return check.Ended(ctx, run, err)
}

// leave drops the schema, within a limit of its own: a long run leaves a large table. Where the server is lost, that it cannot be
// dropped either is no news.
func leave(ctx context.Context, schema *server.Schema, err error) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	dropErr := schema.Drop(last)
	if errors.Is(err, ErrServerLost) {
		return err
	}
	return errors.Join(err, dropErr)
}

// measure makes the tables, keeps the instances under load and reads back what is left. The measurement is nil where nothing
// was measured.
func (o Options) measure(ctx context.Context, srv *server.Server) (_ *measurement, err error) {
	schema, err := tables.Create(ctx, srv, o.DDL, o.Strategy)
	if err != nil {
		return nil, err
	}
	defer func() { err = leave(ctx, schema, err) }()
	acq := acquirer.New(o.Acquirer)
	t, err := assemble(ctx, o, srv, schema, acq)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.warmUp(ctx); err != nil {
		return nil, err
	}
	m := newMeasurement(o, acq)
	run, stop := m.stoppable(ctx)
	defer stop()
	if err := t.prepare(run, o); err != nil {
		return nil, err
	}
	sampler, err := lockwait.StartEvery(ctx, schema.Config(), appName(schema), lookEvery)
	if err != nil {
		return nil, err
	}
	m.begin()
	stall := startStall(ctx, schema, o, m.window)
	runErr := t.run(run, stop, m)
	stallErr := stall.stop()
	samples, sampleErr := sampler.Stop()
	m.samples = samples
	m.book.settleAll()
	if runErr != nil {
		return m, runErr // the same lost server, said once
	}
	rowsErr := m.readRows(ctx, schema)
	return m, errors.Join(sampleErr, stallErr, rowsErr)
}

// lookEvery is the time between two looks at who waits. At full rate on two processors looking every 10 ms costs three attempts in a
// hundred, and what an autopsy is about lasts longer.
const lookEvery = 50 * time.Millisecond

// appName marks the attempts' connections, so that the sampler sees them and nobody else's.
func appName(schema *server.Schema) string { return schema.Name() + " attempts" }

func attemptsConfig(schema *server.Schema) *pgx.ConnConfig {
	cfg := schema.Config()
	cfg.RuntimeParams["application_name"] = appName(schema)
	return cfg
}

// readRows reads the table from outside, also after Ctrl-C, on a connection of its own.
func (m *measurement) readRows(ctx context.Context, schema *server.Schema) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	conn, err := pgx.ConnectConfig(last, schema.Config())
	if err != nil {
		return fmt.Errorf("connect to read the rows: %w", err)
	}
	defer server.CloseConn(ctx, conn)
	return m.book.readRows(func(each func(scenarios.Row)) error {
		return tables.EachRow(last, conn, m.options.Scenario, 0, firstOrder, each)
	})
}
