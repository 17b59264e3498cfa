// Package instance is one instance of the service: a strategy's handler on a pool of connections of its own, as one of
// several processes behind a load balancer has it. It records, for each attempt, when what was sent, on which connection, and
// how long the pool made it wait.
package instance

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"idemlab/internal/acquirer"
	"idemlab/scenarios"
)

// Config says what an instance is.
type Config struct {
	Conn      *pgx.ConnConfig // with the schema as its search_path
	Pool      int             // connections, all made before the first attempt
	Isolation pgx.TxIsoLevel  // default_transaction_isolation of each connection
	Strategy  scenarios.Strategy
	Seed      uint64
	Lease     time.Duration // scenarios.Env.Lease
}

// Instance answers attempts. It is safe for concurrent use.
type Instance struct {
	pool     *pgxpool.Pool
	strategy scenarios.Strategy
	handle   scenarios.Handler
	queued   *atomic.Int64 // attempts that wait for a lock of this process
	wanted   atomic.Int64  // connections that are held or waited for
	size     int64         // of the pool
	alike    bool          // every client sends the same request: nobody can be taken for another
}

// Open prepares the pool, whose connections are made in the background; WarmUp waits for all of them.
func Open(ctx context.Context, c Config) (*Instance, error) {
	pc, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, fmt.Errorf("prepare pool: %w", err)
	}
	pc.ConnConfig = c.Conn.Copy()
	pc.ConnConfig.RuntimeParams["default_transaction_isolation"] = string(c.Isolation)
	// pgx's default, max(4, CPUs), would make attempts queue in the pool, and the race would vanish.
	pc.MaxConns, pc.MinConns = int32(c.Pool), int32(c.Pool)
	// A connection that is replaced in the middle of a race would be cold: none is.
	pc.MaxConnLifetime, pc.MaxConnIdleTime = 24*time.Hour, 24*time.Hour

	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open pool of %d: %w", c.Pool, err)
	}
	queued := &atomic.Int64{}
	return &Instance{
		pool: pool, strategy: c.Strategy, handle: c.Strategy.New(newEnv(c.Seed, c.Lease, queued)), queued: queued, size: int64(c.Pool),
		alike: c.Strategy.Scenario().Alike(),
	}, nil
}

// Close ends the connections; it waits for attempts that still hold one.
func (i *Instance) Close() { i.pool.Close() }

// Queued says whether an attempt waits for a lock of this process, which PostgreSQL knows nothing of.
func (i *Instance) Queued() bool { return i.queued.Load() > 0 }

// newEnv is what the service runs in outside the explorer: the real clock, and a mutex of the process for each name.
func newEnv(seed uint64, lease time.Duration, queued *atomic.Int64) scenarios.Env {
	var mu sync.Mutex
	locks := map[string]chan struct{}{}
	return scenarios.Env{
		Now:   time.Now,
		Seed:  seed,
		Lease: lease,
		Lock: func(ctx context.Context, name string) (func(), error) {
			if r, ok := ctx.Value(recording{}).(*recorder); ok {
				r.inFlight(time.Now())
			}
			mu.Lock()
			l, ok := locks[name]
			if !ok {
				l = make(chan struct{}, 1)
				locks[name] = l
			}
			mu.Unlock()
			select {
			case l <- struct{}{}:
				return func() { <-l }, nil
			default:
			}
			queued.Add(1)
			defer queued.Add(-1)
			select {
			case l <- struct{}{}:
				return func() { <-l }, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		},
		Gather: (&Gatherer{}).Gather,
	}
}

// WarmUp lets every connection of the pool answer twice for a throw-away key against a throw-away acquirer, so that winner's
// and loser's statements are prepared before anything is measured: the first race on new connections is ten times slower, and
// of another width. The rows that this leaves carry order ids below zero.
func (i *Instance) WarmUp(ctx context.Context) error {
	size := int(i.pool.Config().MaxConns)
	conns := make([]*pgxpool.Conn, 0, size)
	defer func() {
		for _, c := range conns {
			c.Release()
		}
	}()
	for range size {
		c, err := i.pool.Acquire(ctx)
		if err != nil {
			return fmt.Errorf("connect %d of %d: %w", len(conns)+1, size, err)
		}
		conns = append(conns, c)
	}
	throwAway := acquirer.New(acquirer.Options{Dedup: i.strategy.WantsDedup})
	for _, c := range conns {
		// The key must be new in the table, whoever else warms up, or has done so before: a backend's pid is its own for as long
		// as it lives.
		pid := c.Conn().PgConn().PID()
		req := scenarios.Request{Key: fmt.Sprintf("warm-up-%d-%s", pid, rand.Text()), OrderID: -int64(pid) - 1, AmountCents: 1}
		if err := Prepare(ctx, c.Conn(), i.strategy.Scenario(), i.strategy, req, 2); err != nil {
			return fmt.Errorf("warm up: %w", err)
		}
		for n := range 2 {
			err := i.rehearse(ctx, pinned{c.Conn(), &recorder{}}, throwAway.For(req.Key), req)
			if errors.Is(err, ErrDeaf) {
				return fmt.Errorf("warm up: %w", err)
			}
			if pg := c.Conn().PgConn(); err == nil && (pg.IsBusy() || pg.TxStatus() != 'I') {
				err = errLeak
			}
			// A strategy that answers every repeat with an error is there to be seen doing it; a first request that fails is not.
			if err != nil && (n == 0 || ctx.Err() != nil || lostServer(ctx, err) || errors.Is(err, errLeak) || errors.Is(err, errPanic)) {
				return fmt.Errorf("warm up: %w", err)
			}
		}
	}
	return nil
}

// ErrDeaf says that a strategy neither answers nor ends when its context does, so that nothing that runs it would ever end.
var ErrDeaf = errors.New("the strategy does not come back, and does not look at its context: it may loop for ever or wait for itself")

const (
	rehearsal = 20 * time.Second // for one attempt of the warm-up, with nobody in its way
	hearing   = time.Second      // to notice that the context has ended
)

// rehearse is call where the strategy has yet to show that it comes back. Where it does not it is left behind: nothing in Go ends it.
func (i *Instance) rehearse(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) error {
	ctx, cancel := context.WithTimeout(ctx, rehearsal)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := i.call(ctx, db, acq, req)
		ended <- err
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(hearing):
		return ErrDeaf
	}
}

// Handle answers one attempt and records it. An error of the handler, or a panic in it, is a result: the client is told Failed.
func (i *Instance) Handle(ctx context.Context, acq scenarios.Acquirer, req scenarios.Request) (rec Record) {
	r := newRecorder()
	r.watch = watchOf(ctx)
	var astray atomic.Bool
	if !i.alike {
		acq = addressed{acq, req.Tenant, &astray}
	}
	called := time.Now()
	resp, err := i.call(context.WithValue(ctx, recording{}, r), pooled{i.pool, &i.wanted, i.size, r}, acq, req)
	if leak := r.collect(); leak != nil {
		err = errors.Join(err, leak)
	}
	rec = r.record()
	rec.Called, rec.Answered, rec.Tenant, rec.Astray = called, time.Now(), req.Tenant, astray.Load()
	if err != nil {
		rec.Answer, rec.HTTP, rec.Err = scenarios.Failed, 500, err.Error()
		var pg *pgconn.PgError
		if errors.As(err, &pg) {
			rec.SQLState = pg.Code
		}
		rec.LostServer = lostServer(ctx, err)
		rec.OutcomeUnknown = errors.Is(err, scenarios.ErrOutcomeUnknown)
		// Asked of the context, too: to who waits for the acquirer, the end of its patience is an unknown outcome.
		rec.GivenUp = errors.Is(err, context.DeadlineExceeded) || errors.Is(context.Cause(ctx), context.DeadlineExceeded)
		return rec
	}
	rec.Answer, rec.HTTP, rec.Body = resp.Answer, resp.HTTP, resp.Body
	return rec
}

// errPanic says that a strategy panicked.
var errPanic = errors.New("the strategy panicked")

// call runs the handler, and takes a panic for an error, as net/http does.
func (i *Instance) call(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (resp scenarios.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errPanic, p)
		}
	}()
	return i.handle(ctx, db, acq, req)
}

// failures are the SQLSTATEs, or their first digits, by which a server says that it, and not the statement, is in trouble:
// 08 connection exception, 53 insufficient resources (a full disk), 57P operator intervention, 58 system error, XX internal
// error, 25006 a server turned read-only (PostgreSQL docs, appendix A). 42P01 and 3F000, a table or schema that is not there,
// mean that somebody dropped ours: the warm-up has just used it.
func failures() []string { return []string{"08", "53", "57P", "58", "XX", "25006", "42P01", "3F000"} }

// lostServer says that the server went away or failed, which is no answer of the strategy but the end of the run.
func lostServer(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, scenarios.ErrOutcomeUnknown) {
		return false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return slices.ContainsFunc(failures(), func(f string) bool { return strings.HasPrefix(pg.Code, f) })
	}
	var connect *pgconn.ConnectError
	var network *net.OpError
	return errors.As(err, &connect) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}

// Waiting is how many attempts wait for a connection at this moment.
func (i *Instance) Waiting() int { return int(max(0, i.wanted.Load()-i.size)) }

// Ping asks the database for nothing, over the same pool: what any other part of the service would notice.
func (i *Instance) Ping(ctx context.Context) error {
	_, err := pooled{i.pool, &i.wanted, i.size, &recorder{}}.Exec(ctx, `/* ping */ SELECT 1`)
	return err
}

// Env is what an instance of the service runs in, for whoever runs a strategy's handler outside of a pool.
func Env(seed uint64, lease time.Duration) scenarios.Env { return newEnv(seed, lease, &atomic.Int64{}) }
