package instance

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/acquirer"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

// quay is a table, and instances of insert-first-batched on it whose batches the test puts together.
type quay struct {
	t      *testing.T
	config *pgx.ConnConfig
	aside  *pgx.Conn // a client of another service, which can hold a key
	watch  *pgx.Conn
	acq    *acquirer.Acquirer
}

func newQuay(t *testing.T) *quay {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	config := servertest.Schema(t, string(ddl)).Config()
	config.RuntimeParams["deadlock_timeout"] = "10ms"
	q := &quay{t: t, config: config, acq: acquirer.New(acquirer.Options{})}
	for _, conn := range []**pgx.Conn{&q.aside, &q.watch} {
		if *conn, err = pgx.ConnectConfig(t.Context(), config); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { (*conn).Close(context.WithoutCancel(t.Context())) })
	}
	config.RuntimeParams["application_name"] = config.RuntimeParams["search_path"]
	return q
}

// ship is one instance, and what its database told it.
type ship struct {
	*Instance
	q *quay
	g Gatherer

	mu     sync.Mutex
	states []string // SQLSTATEs of claims
}

func (q *quay) ship(level pgx.TxIsoLevel, change func(sql string) string) *ship {
	q.t.Helper()
	s := &ship{q: q}
	strategy, inner := scenarios.InsertFirstBatched, scenarios.InsertFirstBatched.New
	strategy.New = func(env scenarios.Env) scenarios.Handler {
		env.Gather = func(ctx context.Context, db scenarios.DB, b scenarios.Batch, item any) (int, error) {
			b.Wait = time.Hour // the test says when a batch leaves
			return s.g.Gather(ctx, db, b, item)
		}
		handle := inner(env)
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			return handle(ctx, logged{db, s, change}, acq, req)
		}
	}
	inst, err := Open(q.t.Context(), Config{Conn: q.config, Pool: 8, Isolation: level, Strategy: strategy})
	if err != nil {
		q.t.Fatal(err)
	}
	q.t.Cleanup(inst.Close)
	s.Instance = inst
	return s
}

// logged is a DB that keeps what its claims are told, and may change them.
type logged struct {
	scenarios.DB
	s      *ship
	change func(sql string) string
}

func (l logged) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if scenarios.StepOf(sql) != "claim" {
		return l.DB.Query(ctx, sql, args...)
	}
	if l.change != nil {
		sql = l.change(sql)
	}
	rows, err := l.DB.Query(ctx, sql, args...)
	return loggedRows{rows, l.s}, err
}

type loggedRows struct {
	pgx.Rows
	s *ship
}

func (r loggedRows) Err() error {
	err := r.Rows.Err()
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		r.s.mu.Lock()
		defer r.s.mu.Unlock()
		if n := len(r.s.states); n == 0 || r.s.states[n-1] != pg.Code { // asked twice, it says it twice
			r.s.states = append(r.s.states, pg.Code)
		}
	}
	return err
}

func request(key string) scenarios.Request {
	return scenarios.Request{Key: key, OrderID: 1, AmountCents: 25000}
}

// together sends requests, which arrive in this order and leave in one batch. A context in ctxs is that of the request in its place.
func (s *ship) together(requests []scenarios.Request, ctxs ...context.Context) []<-chan Record {
	s.q.t.Helper()
	entered, release := make(chan struct{}), make(chan struct{})
	go func() { // while it is under way all others gather
		hold := scenarios.Batch{Name: "hold", Most: 1, Run: func(context.Context, scenarios.DB, []any) error {
			close(entered)
			<-release
			return nil
		}}
		_, _ = s.g.Gather(s.q.t.Context(), nil, hold, 0)
	}()
	<-entered
	var answers []<-chan Record
	for i, req := range requests {
		ctx := s.q.t.Context()
		if i < len(ctxs) {
			ctx = ctxs[i]
		}
		answer := make(chan Record, 1)
		go func() {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Second) // for what never ends where something is broken
			defer cancel()
			answer <- s.Handle(ctx, s.q.acq.For(req.Key), req)
		}()
		for s.gathered() <= i {
			time.Sleep(100 * time.Microsecond) // nothing tells that it has joined
		}
		answers = append(answers, answer)
	}
	close(release)
	return answers
}

// gathered are those who wait for a batch to leave.
func (s *ship) gathered() (n int) {
	s.g.mu.Lock()
	defer s.g.mu.Unlock()
	for _, b := range s.g.queue {
		n += len(b.items)
	}
	return n
}

// hold inserts a key and leaves the transaction open.
func (q *quay) hold(key string) pgx.Tx {
	q.t.Helper()
	tx, err := q.aside.Begin(q.t.Context())
	if err != nil {
		q.t.Fatal(err)
	}
	_, err = tx.Exec(q.t.Context(), `INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status) VALUES ($1, 1, 25000, 'PROCESSANDO')`, key)
	if err != nil {
		q.t.Fatal(err)
	}
	return tx
}

// blocked waits until so many backends of the instances wait for a lock, and returns their pids.
func (q *quay) blocked(n int) []int32 {
	q.t.Helper()
	for {
		rows, err := q.watch.Query(q.t.Context(),
			`SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND cardinality(pg_blocking_pids(pid)) > 0`, q.config.RuntimeParams["application_name"])
		if err != nil {
			q.t.Fatal(err)
		}
		pids, err := pgx.CollectRows(rows, pgx.RowTo[int32])
		if err != nil {
			q.t.Fatal(err)
		}
		if len(pids) == n {
			return pids
		}
		time.Sleep(time.Millisecond) // PostgreSQL tells nobody else that it waits
	}
}

func (q *quay) wants(answers []<-chan Record, want ...scenarios.Answer) []Record {
	q.t.Helper()
	var all []Record
	for i, a := range answers {
		rec := <-a
		all = append(all, rec)
		if rec.Answer != want[i] {
			q.t.Errorf("request %d was told %s (%s), want %s", i+1, rec.Answer, rec.Err, want[i])
		}
	}
	return all
}

func (q *quay) wantsCaptures(want map[string]int) {
	q.t.Helper()
	for key, n := range want {
		if got := q.acq.Counts()[key].Captures; got != n {
			q.t.Errorf("%d captures under %.20q, want %d", got, key, n)
		}
	}
}

const (
	charged, inProgress, mismatched, failed = scenarios.Charged, scenarios.InProgress, scenarios.Mismatched, scenarios.Failed
)

// Of several with one key in one batch the first claims; the others are told what they would have been told by themselves.
func TestDuplicatesInOneBatch(t *testing.T) {
	q := newQuay(t)
	gate := q.acq.Hold()
	other := request("a")
	other.AmountCents++
	answers := q.ship(pgx.ReadCommitted, nil).together([]scenarios.Request{request("b"), request("a"), other, request("a"), request("b")})
	q.wants(answers[2:], mismatched, inProgress, inProgress)
	gate.Open()
	q.wants(answers[:2], charged, charged)
	q.wantsCaptures(map[string]int{"a": 1, "b": 1})

	// Whoever comes first is in the right: here the others have the other amount.
	gate = q.acq.Hold()
	other.Key = "c"
	answers = q.ship(pgx.ReadCommitted, nil).together([]scenarios.Request{other, request("c"), other})
	q.wants(answers[1:], mismatched, inProgress)
	gate.Open()
	rec := q.wants(answers[:1], charged)[0]
	repeats := q.ship(pgx.ReadCommitted, nil).together([]scenarios.Request{request("c"), other, other, request("a")})
	for i, r := range q.wants(repeats, mismatched, scenarios.Replayed, scenarios.Replayed, scenarios.Replayed) {
		if (i == 1 || i == 2) && (r.Body != rec.Body || r.HTTP != rec.HTTP) {
			t.Errorf("replayed %d %s, first told %d %s", r.HTTP, r.Body, rec.HTTP, rec.Body)
		}
	}
}

// Keys are claimed in order. Two batches that claim the same ones in opposite orders wait for each other, and PostgreSQL ends one.
func TestUnsortedBatchesDeadlock(t *testing.T) {
	backwards := func(sql string) string { return strings.Replace(sql, "ORDER BY key", "ORDER BY key DESC", 1) }
	for _, c := range []struct {
		name   string
		change func(string) string
		want   []string
	}{{"sorted", nil, nil}, {"one of them backwards", backwards, []string{"40P01"}}} {
		t.Run(c.name, func(t *testing.T) {
			q := newQuay(t)
			tx := q.hold("m") // both have claimed something when they meet here
			one, two := q.ship(pgx.ReadCommitted, nil), q.ship(pgx.ReadCommitted, c.change)
			requests := []scenarios.Request{request("m"), request("z"), request("a")}
			answers := one.together(requests)
			q.blocked(1)
			answers = append(answers, two.together(requests)...)
			q.blocked(2)
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, a := range answers {
				if rec := <-a; rec.Answer == failed { // who is charged, and who comes too late, is open
					t.Errorf("request %d failed: %s", i+1, rec.Err)
				}
			}
			if states := append(one.states, two.states...); !slices.Equal(states, c.want) {
				t.Errorf("SQLSTATEs %v, want %v", states, c.want)
			}
			q.wantsCaptures(map[string]int{"a": 1, "m": 1, "z": 1})
		})
	}
}

// A request that PostgreSQL refuses is told so; those that had the bad luck to share its batch are not.
func TestAMistakeInABatchIsItsOwners(t *testing.T) {
	for state, key := range map[string]string{"54000": incompressible(4000), "22021": "nul\x00byte"} {
		q := newQuay(t)
		s := q.ship(pgx.ReadCommitted, nil)
		recs := q.wants(s.together([]scenarios.Request{request("a"), request(key), request("b")}), charged, failed, charged)
		if recs[1].SQLState != state {
			t.Errorf("it was told %s (%s), want %s", recs[1].SQLState, recs[1].Err, state)
		}
		q.wantsCaptures(map[string]int{"a": 1, key: 0, "b": 1})

		rec := s.Handle(t.Context(), q.acq.For(key), request(key)) // and alone it is told so at once
		if rec.SQLState != state || len(rec.Statements) != 1 {
			t.Errorf("alone it was told %s, by %d statements", rec.SQLState, len(rec.Statements))
		}
	}
}

func incompressible(n int) string {
	r := rand.New(rand.NewPCG(1, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('!' + r.IntN('~'-'!'))
	}
	return string(b)
}

// At REPEATABLE READ one key that was claimed meanwhile has the whole batch refused.
func TestABatchRefusedOverOneKey(t *testing.T) {
	for _, level := range []pgx.TxIsoLevel{pgx.RepeatableRead, pgx.Serializable} {
		q := newQuay(t)
		s := q.ship(level, nil)
		tx := q.hold("m")
		answers := s.together([]scenarios.Request{request("a"), request("m"), request("z")})
		q.blocked(1)
		if err := tx.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		q.wants(answers, charged, inProgress, charged)
		if !slices.Equal(s.states, []string{"40001"}) {
			t.Errorf("SQLSTATEs %v: nothing was refused", s.states)
		}
		q.wantsCaptures(map[string]int{"a": 1, "m": 0, "z": 1})
	}
}

// A batch whose connection is lost has claimed nothing, or all of it; here nothing.
func TestABatchThatLosesItsConnection(t *testing.T) {
	q := newQuay(t)
	tx := q.hold("m")
	answers := q.ship(pgx.ReadCommitted, nil).together([]scenarios.Request{request("a"), request("m"), request("z")})
	pid := q.blocked(1)[0]
	if _, err := q.watch.Exec(t.Context(), `SELECT pg_terminate_backend($1)`, pid); err != nil {
		t.Fatal(err)
	}
	q.wants([]<-chan Record{answers[0], answers[2]}, charged, charged)
	q.blocked(1) // on a connection of its own
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	q.wants(answers[1:2], charged)
	q.wantsCaptures(map[string]int{"a": 1, "m": 1, "z": 1})
}

// Whoever gives up, the first of a batch or another, does so alone. What it leaves is what a lone INSERT leaves whose caller gives up.
func TestGivingUpInABatch(t *testing.T) {
	for place := range 3 {
		t.Run(fmt.Sprint("place ", place), func(t *testing.T) {
			q := newQuay(t)
			tx := q.hold("m")
			ctxs, want := []context.Context{t.Context(), t.Context(), t.Context()}, []scenarios.Answer{charged, charged, charged}
			ctx, giveUp := context.WithCancel(t.Context())
			ctxs[place], want[place] = ctx, failed
			requests := []scenarios.Request{request("a"), request("m"), request("z")}
			answers := q.ship(pgx.ReadCommitted, nil).together(requests, ctxs...)
			q.blocked(1)
			giveUp()
			if place > 0 { // who leads stays, for the others' sake
				q.wants(answers[place:place+1], failed)
				answers[place] = nil
			}
			q.blocked(1)
			if err := tx.Rollback(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i, a := range answers {
				if a == nil {
					continue
				}
				rec := q.wants(answers[i:i+1], want[i])[0]
				if claims := len(slices.DeleteFunc(rec.Statements, func(s Statement) bool { return s.Step != "claim" })); i > 0 && claims > 0 {
					t.Errorf("request %d had to claim by itself", i+1)
				}
			}
			q.wantsCaptures(map[string]int{requests[place].Key: 0})
		})
	}
}
