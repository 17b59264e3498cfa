package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"idemlab/internal/acquirer"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

const ddl = `CREATE TABLE t (n int PRIMARY KEY)`

// open makes an instance with a pool of one that runs f for each attempt.
func open(t *testing.T, f scenarios.Handler) *Instance {
	t.Helper()
	inst, err := Open(t.Context(), Config{
		Conn: servertest.Schema(t, ddl).Config(), Pool: 1, Isolation: pgx.ReadCommitted,
		Strategy: scenarios.Strategy{Name: "test", New: func(scenarios.Env) scenarios.Handler { return f }},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(inst.Close)
	return inst
}

func handle(t *testing.T, inst *Instance) Record {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	return inst.Handle(ctx, acquirer.New(acquirer.Options{}).For("i"), scenarios.Request{Key: "k", OrderID: 1, AmountCents: 1})
}

var ok = scenarios.Response{Answer: scenarios.Charged, HTTP: 201}

// Every way to use the database gives the connection back, also where it fails, and leaves its statements in the record.
func TestConnectionsComeBackAndStatementsAreRecorded(t *testing.T) {
	for name, c := range map[string]struct {
		f     func(ctx context.Context, db scenarios.DB) error
		steps []string
		fails bool
	}{
		"exec": {func(ctx context.Context, db scenarios.DB) error {
			_, err := db.Exec(ctx, `/* write */ INSERT INTO t VALUES (1)`)
			return err
		}, []string{"write"}, false},
		"exec fails": {func(ctx context.Context, db scenarios.DB) error {
			_, err := db.Exec(ctx, `/* write */ INSERT INTO t VALUES (1/0)`)
			return err
		}, []string{"write"}, true},
		"query read to its end": {func(ctx context.Context, db scenarios.DB) error {
			rows, err := db.Query(ctx, `/* read */ SELECT generate_series(1, 3)`)
			if err != nil {
				return err
			}
			for rows.Next() {
			}
			return rows.Err()
		}, []string{"read"}, false},
		"query closed early": {func(ctx context.Context, db scenarios.DB) error {
			rows, err := db.Query(ctx, `/* read */ SELECT generate_series(1, 3)`)
			if err != nil {
				return err
			}
			rows.Next()
			rows.Close()
			return nil
		}, []string{"read"}, false},
		"query fails": {func(ctx context.Context, db scenarios.DB) error {
			rows, err := db.Query(ctx, `/* read */ SELECT 1/0`)
			if err != nil {
				return err
			}
			defer rows.Close()
			rows.Next()
			return rows.Err()
		}, []string{"read"}, true},
		"row": {func(ctx context.Context, db scenarios.DB) error {
			return db.QueryRow(ctx, `/* read */ SELECT 1`).Scan(new(int))
		}, []string{"read"}, false},
		"no row": {func(ctx context.Context, db scenarios.DB) error {
			return db.QueryRow(ctx, `/* read */ SELECT n FROM t WHERE n = -1`).Scan(new(int))
		}, []string{"read"}, true},
		"transaction": {func(ctx context.Context, db scenarios.DB) error {
			tx, err := db.BeginTx(ctx, pgx.TxOptions{})
			if err != nil {
				return err
			}
			defer tx.Rollback(ctx)
			if _, err := tx.Exec(ctx, `/* write */ INSERT INTO t VALUES (2)`); err != nil {
				return err
			}
			return tx.Commit(ctx)
		}, []string{"begin", "write", "commit"}, false},
		"transaction rolled back by an error, with a savepoint": {func(ctx context.Context, db scenarios.DB) error {
			tx, err := db.BeginTx(ctx, pgx.TxOptions{})
			if err != nil {
				return err
			}
			defer tx.Rollback(ctx)
			inner, err := tx.Begin(ctx)
			if err != nil {
				return err
			}
			_, err = inner.Exec(ctx, `/* write */ INSERT INTO t VALUES (1/0)`)
			return err
		}, []string{"begin", "savepoint", "write", "rollback"}, true},
		"session": {func(ctx context.Context, db scenarios.DB) error {
			return db.Session(ctx, func(s scenarios.DB) error {
				var a, b int
				err := errors.Join(s.QueryRow(ctx, `/* one */ SELECT pg_backend_pid()`).Scan(&a),
					s.QueryRow(ctx, `/* two */ SELECT pg_backend_pid()`).Scan(&b))
				if a != b {
					return errors.New("two backends in one session")
				}
				return err
			})
		}, []string{"one", "two"}, false},
		"panic": {func(ctx context.Context, db scenarios.DB) error { panic("a bug in the strategy") }, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			inst := open(t, func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
				return ok, c.f(ctx, db)
			})
			rec := handle(t, inst)
			if failed := rec.Answer == scenarios.Failed; failed != c.fails || failed != (rec.Err != "") || rec.LostServer {
				t.Errorf("answer %s, error %q, lost %v", rec.Answer, rec.Err, rec.LostServer)
			}
			if began := firstStart(rec); !rec.Sent.Equal(began) || !began.IsZero() && rec.Sent.Before(rec.Called) || rec.Sent.After(rec.Answered) {
				t.Errorf("called at %v, in flight since %v, first statement at %v, answered at %v", rec.Called, rec.Sent, began, rec.Answered)
			}
			var steps []string
			for _, s := range rec.Statements {
				steps = append(steps, s.Step)
				if s.PID == 0 || s.End.Before(s.Start) {
					t.Errorf("statement %+v", s)
				}
			}
			if !slices.Equal(steps, c.steps) {
				t.Errorf("recorded %q, want %q", steps, c.steps)
			}
			if n := inst.pool.Stat().AcquiredConns(); n != 0 {
				t.Errorf("%d connections still taken", n)
			}
		})
	}
}

// firstStart is when the first statement was sent; zero where none was.
func firstStart(rec Record) (first time.Time) {
	for _, s := range rec.Statements {
		if first.IsZero() || s.Start.Before(first) {
			first = s.Start
		}
	}
	return first
}

// asking tells when somebody asks the pool for a connection.
type asking chan struct{}

func (a asking) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	a <- struct{}{}
	return ctx
}
func (asking) TraceAcquireEnd(context.Context, *pgxpool.Pool, pgxpool.TraceAcquireEndData) {}
func (asking) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	return ctx
}
func (asking) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// Who queues for a connection is not in flight: nothing of it has reached the database.
func TestQueueingForThePoolIsNotInFlight(t *testing.T) {
	asked, entered, leave := make(asking, 8), make(chan struct{}), make(chan struct{})
	cfg := servertest.Schema(t, ddl).Config()
	cfg.Tracer = asked
	inst, err := Open(t.Context(), Config{Conn: cfg, Pool: 1, Isolation: pgx.ReadCommitted,
		Strategy: scenarios.Strategy{Name: "test", New: func(scenarios.Env) scenarios.Handler {
			return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
				return ok, db.Session(ctx, func(s scenarios.DB) error {
					entered <- struct{}{}
					<-leave
					_, err := s.Exec(ctx, `/* write */ SELECT 1`)
					return err
				})
			}
		}}})
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	first, second := make(chan Record), make(chan Record)
	go func() { first <- handle(t, inst) }()
	<-asked
	<-entered
	go func() { second <- handle(t, inst) }()
	<-asked // and is not given what the first one holds
	freed := time.Now()
	close(leave)
	<-entered
	<-first
	rec := <-second
	if !rec.Called.Before(freed) || rec.Sent.Before(freed) || !rec.Sent.Equal(firstStart(rec)) || len(rec.PoolWaits) != 1 {
		t.Errorf("called at %v, in flight since %v, the connection was free at %v; pool waits %v", rec.Called, rec.Sent, freed, rec.PoolWaits)
	}
}

func TestPoolWaitsAreThoseThatFoundNoneFree(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	inst := open(t, func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		return ok, db.Session(ctx, func(scenarios.DB) error {
			entered <- struct{}{}
			<-leave
			return nil
		})
	})
	if err := inst.pool.Ping(t.Context()); err != nil { // the one connection is there, and idle
		t.Fatal(err)
	}
	first := make(chan Record)
	go func() { first <- handle(t, inst) }()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // it waits for as long as it may
	defer cancel()
	second := inst.Handle(ctx, nil, scenarios.Request{})
	close(leave)
	if n := len((<-first).PoolWaits); n != 0 {
		t.Errorf("%d waits for a connection that was free", n)
	}
	if len(second.PoolWaits) != 1 || second.PoolWaits[0] <= 0 || !second.Sent.IsZero() {
		t.Errorf("the attempt that found none free: %+v", second)
	}
}

// Winner's and loser's statements are prepared on every connection before anything is measured.
func TestWarmUpRunsTheHandlerTwiceOnEachConnection(t *testing.T) {
	ran := map[uint32]int{}
	strategy := scenarios.Strategy{Name: "test", New: func(scenarios.Env) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if req.OrderID >= 0 {
				t.Errorf("order %d could be taken for an intent's", req.OrderID)
			}
			var pid uint32
			err := db.QueryRow(ctx, `/* who */ SELECT pg_backend_pid()`).Scan(&pid)
			ran[pid]++ // one connection after another
			return ok, err
		}
	}}
	inst, err := Open(t.Context(), Config{Conn: servertest.Schema(t, ddl).Config(), Pool: 5, Isolation: pgx.Serializable, Strategy: strategy})
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	if err := inst.WarmUp(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(ran) != 5 {
		t.Errorf("%d of 5 connections warmed up", len(ran))
	}
	for pid, n := range ran {
		if n != 2 {
			t.Errorf("backend %d ran it %d times", pid, n)
		}
	}
	var level string
	if err := inst.pool.QueryRow(t.Context(), `SHOW transaction_isolation`).Scan(&level); err != nil || level != "serializable" {
		t.Errorf("isolation %q, %v", level, err)
	}
}

// A strategy whose repeats all end in an error can be raced: to see that is the point. One whose first request fails cannot.
func TestWarmUpBearsAFailingRepeat(t *testing.T) {
	for failsAt, want := range map[int]bool{1: false, 2: true} {
		prepared, asked := 0, 0
		strategy := scenarios.Strategy{
			Name:    "test",
			Prepare: func(context.Context, scenarios.DB, scenarios.Request) error { prepared++; return nil },
			New: func(scenarios.Env) scenarios.Handler {
				return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
					if asked++; prepared == 0 {
						t.Error("asked before it was prepared")
					}
					if asked == failsAt {
						_, err := db.Exec(ctx, `/* fail */ SELECT 1/0`)
						return scenarios.Response{}, err
					}
					return ok, nil
				}
			},
		}
		inst, err := Open(t.Context(), Config{Conn: servertest.Schema(t, ddl).Config(), Pool: 1, Isolation: pgx.ReadCommitted, Strategy: strategy})
		if err != nil {
			t.Fatal(err)
		}
		defer inst.Close()
		if err := inst.WarmUp(t.Context()); (err == nil) != want {
			t.Errorf("request %d of the warm-up fails: %v", failsAt, err)
		}
	}
}

// Who waits for the process's own lock is in flight, though nothing of it has reached the database.
func TestWaitingForTheProcessLockIsInFlight(t *testing.T) {
	var env scenarios.Env
	strategy := scenarios.Strategy{Name: "test", New: func(e scenarios.Env) scenarios.Handler {
		env = e
		return func(ctx context.Context, _ scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
			unlock, err := e.Lock(ctx, "charge")
			if err == nil {
				unlock()
			}
			return ok, err
		}
	}}
	inst, err := Open(t.Context(), Config{
		Conn: servertest.Schema(t, ddl).Config(), Pool: 1, Isolation: pgx.ReadCommitted, Strategy: strategy, Lease: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	if env.Lease != time.Hour {
		t.Errorf("lease %v", env.Lease)
	}
	unlock, err := env.Lock(t.Context(), "charge")
	if err != nil {
		t.Fatal(err)
	}
	var released time.Time
	time.AfterFunc(20*time.Millisecond, func() { released = time.Now(); unlock() })
	if rec := handle(t, inst); rec.Sent.Before(rec.Called) || !rec.Sent.Before(released) {
		t.Errorf("called at %v, in flight since %v, the lock was free at %v", rec.Called, rec.Sent, released)
	}
}

func TestLosingTheServerIsNoAnswer(t *testing.T) {
	inst := open(t, func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
		_, err := db.Exec(ctx, `/* die */ SELECT pg_terminate_backend(pg_backend_pid())`)
		return ok, err
	})
	if rec := handle(t, inst); !rec.LostServer {
		t.Errorf("%+v", rec)
	}
}

// A full disk or a dropped table says nothing about a strategy; an error of its own does.
func TestFailuresOfTheServerAreNoAnswers(t *testing.T) {
	for state, want := range map[string]bool{
		"53100": true, "53300": true, "57P01": true, "58030": true, "XX000": true, "25006": true, "42P01": true, "08006": true,
		"23505": false, "40001": false, "40P01": false, "25P02": false, "55P03": false, "57014": false, "42703": false,
	} {
		inst := open(t, func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
			_, err := db.Exec(ctx, fmt.Sprintf(`/* fail */ DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '%s'; END $$`, state))
			return ok, err
		})
		if rec := handle(t, inst); rec.LostServer != want || rec.SQLState != state {
			t.Errorf("%s: %+v", state, rec)
		}
	}
}

func TestLockOfTheProcess(t *testing.T) {
	env := newEnv(1, 0, &atomic.Int64{})
	unlock, err := env.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	other, err := env.Lock(t.Context(), "b") // another name is another lock
	if err != nil {
		t.Fatal(err)
	}
	other()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := env.Lock(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("took a lock that is held: %v", err)
	}
	unlock()
	if unlock, err = env.Lock(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	unlock()
}

// The commonest bug of a beginner: a transaction, rows or a session that nobody ends. It is an error of that attempt, and the
// pool gets its connection back.
func TestLeaksAreErrorsAndDoNotHang(t *testing.T) {
	for name, f := range map[string]func(ctx context.Context, db scenarios.DB) error{
		"transaction": func(ctx context.Context, db scenarios.DB) error {
			_, err := db.BeginTx(ctx, pgx.TxOptions{})
			return err
		},
		"rows": func(ctx context.Context, db scenarios.DB) error {
			_, err := db.Query(ctx, `/* read */ SELECT generate_series(1, 3)`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			inst := open(t, func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
				return ok, f(ctx, db)
			})
			for range 2 { // the second finds a connection again, in a pool of one
				rec := handle(t, inst)
				if rec.Answer != scenarios.Failed || !strings.Contains(rec.Err, "without ending") || rec.LostServer || len(rec.Holds) != 1 {
					t.Errorf("%+v", rec)
				}
			}
			if err := inst.WarmUp(t.Context()); err == nil || !strings.Contains(err.Error(), "without ending") {
				t.Errorf("warm-up: %v", err)
			}
		})
	}
}

func TestPanicInTheWarmUpIsAnError(t *testing.T) {
	inst := open(t, func(context.Context, scenarios.DB, scenarios.Acquirer, scenarios.Request) (scenarios.Response, error) {
		panic("a bug in the strategy")
	})
	if err := inst.WarmUp(t.Context()); err == nil || !strings.Contains(err.Error(), "a bug in the strategy") {
		t.Errorf("%v", err)
	}
}

// A strategy that loops for ever on a repeat ends the warm-up, and with it the run, when nobody would wait any longer.
func TestAStrategyThatDoesNotComeBackEndsTheWarmUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var called atomic.Int32
	over := make(chan struct{})
	defer close(over)
	inst := open(t, func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
		if called.Add(1) == 2 {
			cancel()
			<-over
		}
		return ok, nil
	})
	if err := inst.WarmUp(ctx); !errors.Is(err, ErrDeaf) {
		t.Errorf("%v", err)
	}
}
