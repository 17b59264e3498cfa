package race

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// tryLock is insert-first under a lock that it does not wait for, and as sound: whoever does not get it says that the key is being worked
// on. got is called with the lock in the hand.
func tryLock(name string, got func(context.Context) error) scenarios.Strategy {
	s := around(scenarios.InsertFirst, func(handle scenarios.Handler) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			tx, err := db.BeginTx(ctx, pgx.TxOptions{})
			if err != nil {
				return scenarios.Response{}, err
			}
			defer tx.Rollback(ctx)
			var free bool
			err = tx.QueryRow(ctx, `/* lock */ SELECT pg_try_advisory_xact_lock(hashtext($1))`, req.Key).Scan(&free)
			if err != nil {
				return scenarios.Response{}, err
			}
			if !free {
				return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, nil
			}
			if req.OrderID > 0 { // the warm-up's are below
				if err := got(ctx); err != nil {
					return scenarios.Response{}, err
				}
			}
			return handle(ctx, db, acq, req)
		}
	})
	s.Name = name
	return s
}

func nothing(context.Context) error { return nil }

// listening opens the test's server once more, as another process would, and tells when a run on it has to wait.
func listening(t *testing.T, waits func()) *server.Server {
	t.Helper()
	srv, err := server.Open(t.Context(), server.Options{DSN: servertest.Server(t).DSN(), Say: func(f string, args ...any) {
		if strings.Contains(fmt.Sprintf(f, args...), "waits for another run") {
			waits()
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return srv
}

// Two runs with one seed have the same keys. The second begins while the first has the lock of one of them, which it keeps until the second has
// ended, or says that it waits. Under the name of a strategy that takes no locks nobody waits, and the second finds a key that nobody
// may charge: what is sound is called violated.
func TestRunsThatLockNumbersTakeTurns(t *testing.T) {
	for name, want := range map[string]results.Verdict{"try-lock": results.Held, scenarios.InsertFirst.Name: results.Violated} {
		t.Run(name, func(t *testing.T) {
			waits, ended := make(chan struct{}), make(chan struct{})
			other := listening(t, sync.OnceFunc(func() { close(waits) }))
			var second results.Run
			var secondErr error
			var once sync.Once
			first := run(t, small(t, tryLock(name, func(ctx context.Context) error {
				begun := false
				once.Do(func() { begun = true })
				if !begun {
					return nil
				}
				go func() {
					defer close(ended)
					second, secondErr = Run(t.Context(), other, small(t, tryLock(name, nothing)))
				}()
				select {
				case <-waits:
				case <-ended:
				case <-ctx.Done():
					return ctx.Err()
				}
				return nil
			})))
			<-ended
			if first.Verdict != results.Held || secondErr != nil || second.Verdict != want {
				t.Errorf("first %s (%s), second %s (%s), want %s; %v", first.Verdict, first.Reason, second.Verdict, second.Reason, want, secondErr)
			}
			refused := slices.ContainsFunc(second.Anomalies, func(a results.Anomaly) bool { return a.Kind == string(scenarios.MissingCharge) })
			if refused != (want == results.Violated) {
				t.Errorf("%+v", second.Anomalies)
			}
			if n := second.Waits.Lock.Count; want == results.Held && n > 0 {
				t.Errorf("%d lock waits of a strategy that waits for none: the turn's is none of its", n)
			}
		})
	}
}

// Ctrl-C ends a wait that would not end otherwise, and nothing is left behind.
func TestAWaitForTheTurnIsInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	other := listening(t, interrupt)
	var once sync.Once
	var second results.Run
	var secondErr error
	run(t, small(t, tryLock("try-lock", func(context.Context) error {
		once.Do(func() { second, secondErr = Run(ctx, other, small(t, tryLock("try-lock", nothing))) })
		return nil
	})))
	if second.Status != results.Aborted || secondErr != nil {
		t.Errorf("%s, %v", second.Status, secondErr)
	}
	if n := schemas(t); n != 0 {
		t.Errorf("%d schemas are left", n)
	}
}

func schemas(t *testing.T) (n int) {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), servertest.Server(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	defer server.CloseConn(t.Context(), conn)
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab_%'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Where at most one of the two locks numbers, nobody waits: each run's first attempt waits for the other's, and both come.
func TestOtherRunsAreNotHeldUp(t *testing.T) {
	for _, pair := range [][2]scenarios.Strategy{
		{scenarios.InsertFirst, scenarios.InsertFirst},
		{scenarios.InsertFirst, tryLock("try-lock", nothing)},
	} {
		t.Run(pair[0].Name+", "+pair[1].Name, func(t *testing.T) {
			there := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
			var both sync.WaitGroup
			for i, s := range pair {
				come := sync.OnceFunc(func() { close(there[i]) })
				s = around(s, func(handle scenarios.Handler) scenarios.Handler {
					return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
						if req.OrderID > 0 {
							come()
							select {
							case <-there[1-i]:
							case <-ctx.Done():
								return scenarios.Response{}, errors.New("the other run does not come")
							}
						}
						return handle(ctx, db, acq, req)
					}
				})
				o := small(t, s)
				o.Intents, o.Rounds, o.AttemptTimeout = 1, 1, 20*time.Second
				both.Go(func() {
					if r, err := Run(t.Context(), servertest.Server(t), o); err != nil || r.Verdict != results.Held {
						t.Errorf("%s: %s (%s), %v", s.Name, r.Verdict, r.Reason, err)
					}
				})
			}
			both.Wait()
		})
	}
}
