package attempt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/intents"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

// Config says what is tried, and on what.
type Config struct {
	Strategy  scenarios.Strategy
	Isolation pgx.TxIsoLevel
	Acquirer  acquirer.Options
	Lease     time.Duration // scenarios.Env.Lease
	Seed      uint64
	DDL       string // of schema.sql or what stands for it
	Keep      bool   // leave the schema behind
	// Kept is told the name of the schema that Keep left behind. Optional.
	Kept func(schema string)
	// Env changes what the attempts' services run in. Optional.
	Env func(scenarios.Env) scenarios.Env
}

// Lab is a strategy's tables, its acquirer, and the intents that were tried. It is for one goroutine.
type Lab struct {
	Aside    *pgx.Conn // prepares, looks on, and stands in for whoever comes afterwards; READ COMMITTED, whatever the attempts are
	Acquirer *acquirer.Acquirer
	Intents  []*Intent

	config Config
	schema *server.Schema
}

// Intent is one wish to pay, and how its attempts ended.
type Intent struct {
	Number   int // from 1
	Request  scenarios.Request
	Attempts []scenarios.Attempt
	Purged   bool // its row was deleted, so that nothing is concluded from its absence

	held *flight // the attempt whose call is held; nil where there is none
}

// flight is an attempt under way.
type flight struct {
	process *Process
	wire    *wire
	cancel  context.CancelFunc
	nth     int // place in Intent.Attempts
}

// limit ends an attempt that hangs: nothing here waits for the acquirer.
const limit = 30 * time.Second

// New makes the tables.
func New(ctx context.Context, srv *server.Server, c Config) (_ *Lab, err error) {
	schema, err := tables.Create(ctx, srv, c.DDL, c.Strategy)
	if err != nil {
		return nil, err
	}
	l := &Lab{config: c, schema: schema}
	cfg := schema.Config()
	cfg.RuntimeParams["default_transaction_isolation"] = string(pgx.ReadCommitted)
	if l.Aside, err = pgx.ConnectConfig(ctx, cfg); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to look on: %w", err), schema.Drop(context.WithoutCancel(ctx)))
	}
	c.Acquirer.Dedup = c.Acquirer.Dedup || c.Strategy.WantsDedup
	l.Acquirer = acquirer.New(c.Acquirer)
	return l, nil
}

// Close ends what is under way and drops the tables, also where ctx has ended.
func (l *Lab) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	var errs []error
	for _, it := range l.Intents {
		if it.held != nil {
			errs = append(errs, l.Land(ctx, it))
		}
	}
	server.CloseConn(ctx, l.Aside)
	if l.config.Keep {
		l.schema.Keep()
		if l.config.Kept != nil {
			l.config.Kept(l.schema.Name())
		}
	}
	return errors.Join(append(errs, l.schema.Drop(ctx))...)
}

// Config is how to connect to the lab's tables.
func (l *Lab) Config() *pgx.ConnConfig { return l.schema.Config() }

// Intent makes the next wish to pay, and what must be there before anybody tries.
func (l *Lab) Intent(ctx context.Context) (*Intent, error) {
	it := &Intent{Number: len(l.Intents) + 1, Request: intents.New(l.config.Seed, uint64(len(l.Intents)+1))}
	if err := l.prepare(ctx, it.Request); err != nil {
		return nil, err
	}
	l.Intents = append(l.Intents, it)
	return it, nil
}

func (l *Lab) prepare(ctx context.Context, req scenarios.Request) error {
	return instance.Prepare(ctx, l.Aside, l.config.Strategy.Scenario(), l.config.Strategy, req, 1)
}

// Try makes an attempt at an intent, and returns when it has been answered, has died, or is held. The ledger books it for the intent,
// whatever the request says. An attempt that waits in PostgreSQL for one that is held gets that one let go.
func (l *Lab) Try(ctx context.Context, it *Intent, req scenarios.Request, b Befalls) (scenarios.Attempt, error) {
	p, err := l.process(ctx)
	if err != nil {
		return scenarios.Attempt{}, err
	}
	own, cancel := context.WithCancel(ctx)
	f := &flight{process: p, wire: newWire(l.Acquirer.For(it.Request.Key), b, p), cancel: cancel, nth: len(it.Attempts)}
	it.Attempts = append(it.Attempts, scenarios.Attempt{Died: true}) // until it has answered
	p.begin(own, f.wire, req)
	return l.follow(ctx, it, f, f.wire.held)
}

// follow waits for what becomes of an attempt. held is closed when its call is held; nil where that is over.
func (l *Lab) follow(ctx context.Context, it *Intent, f *flight, held <-chan struct{}) (scenarios.Attempt, error) {
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		select {
		case <-held:
			it.held = f
			return scenarios.Attempt{}, nil
		case a := <-f.process.ended:
			return l.landed(ctx, it, f, a)
		case <-look.C:
			if it.held == nil {
				continue
			}
			waits, err := f.process.waits(ctx, l.Aside)
			if err != nil {
				return l.abandon(ctx, it, f, err)
			}
			if waits {
				it.held.wire.letGo()
			}
		case <-ctx.Done():
			return l.abandon(ctx, it, f, ctx.Err())
		case <-late.C:
			return l.abandon(ctx, it, f, fmt.Errorf("an attempt at intent %d neither answered nor waited for another in %v", it.Number, limit))
		}
	}
}

// abandon ends an attempt that nobody follows any more, and returns why.
func (l *Lab) abandon(ctx context.Context, it *Intent, f *flight, why error) (scenarios.Attempt, error) {
	f.cancel()
	_, err := l.landed(context.WithoutCancel(ctx), it, f, <-f.process.ended)
	return scenarios.Attempt{}, errors.Join(why, err)
}

// Held says whether the intent's attempt is held at the acquirer.
func (it *Intent) Held() bool { return it.held != nil }

// Land lets the held attempt go, and returns when it has answered.
func (l *Lab) Land(ctx context.Context, it *Intent) error {
	f := it.held
	it.held = nil
	f.wire.letGo()
	_, err := l.follow(ctx, it, f, nil)
	return err
}

// landed notes how an attempt ended, and sees to it that nothing is left of its process.
func (l *Lab) landed(ctx context.Context, it *Intent, f *flight, a scenarios.Attempt) (scenarios.Attempt, error) {
	if f.wire.befalls == AfterRecord {
		a = scenarios.Attempt{Died: true}
	}
	it.Attempts[f.nth] = a
	f.cancel()
	return a, f.process.close(ctx, l.Aside)
}

// process starts one more instance of the service.
func (l *Lab) process(ctx context.Context) (*Process, error) {
	cfg := l.schema.Config()
	cfg.RuntimeParams["default_transaction_isolation"] = string(l.config.Isolation)
	cfg.RuntimeParams["application_name"] = l.schema.Name() + " attempts"
	env := instance.Env(l.config.Seed, l.config.Lease)
	if l.config.Env != nil {
		env = l.config.Env(env)
	}
	return open(ctx, cfg, l.config.Strategy.New(env))
}

// Rows are what is in the table, by order.
func (l *Lab) Rows(ctx context.Context) (map[int64][]scenarios.Row, error) {
	all, err := tables.Rows(ctx, l.Aside, l.config.Strategy.Scenario(), 0, intents.FirstOrder)
	if err != nil {
		return nil, err
	}
	rows := map[int64][]scenarios.Row{}
	for _, r := range all {
		rows[r.OrderID] = append(rows[r.OrderID], r)
	}
	return rows, nil
}

// Another is the same charge under a new key, as a client makes it that does not know whether the first came through. It stands apart: in
// no tally.
func (l *Lab) Another(it *Intent) *Intent {
	req := it.Request
	req.Key = intents.New(l.config.Seed, uint64(it.Number)|1<<32).Key
	return &Intent{Number: it.Number, Request: req}
}
