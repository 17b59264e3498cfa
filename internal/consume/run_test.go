package consume

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"
	"golang.org/x/sync/errgroup"

	"idemlab/internal/acquirer"
	"idemlab/internal/broker/rabbittest"
	"idemlab/internal/check"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// killed is the claim itself: consumers that are killed at their work charge again, or do not, and every message comes to its end.
func killed(t *testing.T, on Broker) {
	for _, c := range []struct {
		strategy scenarios.Strategy
		verdict  results.Verdict
	}{{scenarios.CheckThenAct, results.Violated}, {scenarios.InsertFirst, results.Held}} {
		t.Run(c.strategy.Name, func(t *testing.T) {
			t.Parallel() // most of it is waiting: for windows and leases
			o := small(t, c.strategy)
			o.Broker, o.Charges, o.Kills, o.Consumers = on, 40, 20, 3
			r := run(t, o)
			expect(t, r, c.verdict, check.ExitHeld)
			n := r.Consume
			if n.Kills.Made != 20 || n.Kills.AfterCapture == 0 || n.Redeliveries < 20 || n.Acknowledged != 40 || n.Hazard != "crash" {
				t.Errorf("%+v", n)
			}
			if c.verdict == results.Held && (*r.Counts.IntentsCharged != 40 || *r.Counts.Rows != 40 || n.Orphans.Recorded == 0) {
				t.Errorf("%+v, orphans %+v", r.Counts.AcquirerCounts, n.Orphans)
			}
			if c.verdict == results.Violated && r.Counts.IntentsDoubleCharged < n.Kills.AfterCapture {
				t.Errorf("%d double-charged by %d deaths after the capture", r.Counts.IntentsDoubleCharged, n.Kills.AfterCapture)
			}
		})
	}
}

func TestKilledConsumersOfPostgres(t *testing.T) {
	killed(t, Broker{Name: Postgres, Window: time.Second})
}

// A start takes seconds, so that there is one for all of this.
func TestConsumersOfRabbitMQ(t *testing.T) {
	node := rabbittest.Start(t)
	on := Broker{Name: RabbitMQ, URL: node.URL}
	t.Run("killed", func(t *testing.T) { killed(t, on) })
	t.Run("sent twice", func(t *testing.T) { sentTwice(t, on) })
	t.Run("set aside", func(t *testing.T) { setsAside(t, on) })
	t.Run("interrupted", func(t *testing.T) { interrupted(t, on) })
	if n := node.Queues(t); n != 0 {
		t.Errorf("%d queues left", n)
	}
}

func TestSentTwice(t *testing.T) { sentTwice(t, Broker{Name: Postgres, Window: time.Hour}) }

// A producer that sends a charge twice under two ids makes two keys, where the id is the key; the key in the payload is one.
func sentTwice(t *testing.T, on Broker) {
	for name, c := range map[string]struct {
		from    KeyFrom
		same    bool
		verdict results.Verdict
		exit    int
	}{
		"message-id, another id":  {MessageID, false, results.Violated, check.ExitViolated},
		"message-id, the same id": {MessageID, true, results.Held, check.ExitHeld},
		"payload, another id":     {Payload, false, results.Held, check.ExitHeld},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := patient(small(t, scenarios.InsertFirst))
			o.Broker, o.KeyFrom, o.Second = on, c.from, Second{Share: 1, Same: c.same}
			o.Acquirer.Latency = acquirer.Fixed(200 * time.Millisecond) // the second comes while the first is at work
			r := run(t, o)
			expect(t, r, c.verdict, c.exit)
			if n := r.Consume; n.Messages != 24 || n.DoublePublishes != 12 || n.Repeated != 12 || n.Hazard != "instances" || n.Deduplicated != nil {
				t.Errorf("%+v", n)
			}
			want := 12
			if c.verdict == results.Violated {
				want = 24
			}
			if r.Counts.Captures != want {
				t.Errorf("%d captures, want %d", r.Counts.Captures, want)
			}
		})
	}
}

// The broker's own window covers a second message with the same id that comes within it, and nothing else: not another id, not one that
// comes later, and not what it delivers a second time itself.
func TestDedupWindow(t *testing.T) {
	for name, c := range map[string]struct {
		second  Second
		window  time.Duration
		kills   int
		dropped int
		double  int
	}{
		"the same id within it":  {Second{Share: 1, Same: true}, time.Hour, 0, 12, 0},
		"the same id after it":   {Second{Share: 1, Same: true, After: 10 * time.Millisecond}, time.Microsecond, 0, 0, 0},
		"another id within it":   {Second{Share: 1}, time.Hour, 0, 0, 12},
		"a delivery of its own":  {Second{Share: 1, Same: true}, time.Hour, 1, 12, 1},
		"no second to be caught": {Second{}, time.Hour, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// With the id for a key, and a strategy that a death after the capture makes charge again.
			o := patient(small(t, scenarios.InsertFirstOpenTx))
			o.KeyFrom, o.Second, o.Kills, o.Prefetch = MessageID, c.second, c.kills, 1
			o.Broker.Dedup, o.Expect = c.window, check.ExpectHeld
			r := run(t, o)
			n := r.Consume
			if n.Deduplicated == nil || *n.Deduplicated != c.dropped || n.Messages != 12+n.DoublePublishes-c.dropped || r.Counts.DuplicateCaptures != c.double {
				t.Errorf("%d too many captures; %+v", r.Counts.DuplicateCaptures, n)
			}
		})
	}
}

// Work that outlasts the window: a second consumer has the message while the first still works.
func TestWindowRunsOut(t *testing.T) {
	for _, c := range []struct {
		strategy scenarios.Strategy
		verdict  results.Verdict
	}{{scenarios.CheckThenAct, results.Violated}, {scenarios.InsertFirst, results.Held}, {scenarios.ForUpdateOrder, results.Held}} {
		t.Run(c.strategy.Name, func(t *testing.T) {
			t.Parallel()
			o := patient(small(t, c.strategy))
			o.Charges, o.Consumers, o.Broker.Window, o.Acquirer.Latency = 4, 3, 200*time.Millisecond, acquirer.Fixed(time.Second)
			r := run(t, o)
			expect(t, r, c.verdict, check.ExitHeld)
			if n := r.Consume; n.RanOut == 0 || n.Overlapped == 0 || n.TooLate == 0 || n.Hazard != "instances" {
				t.Errorf("%+v", n)
			}
		})
	}
}

func TestSetsAside(t *testing.T) { setsAside(t, Broker{Name: Postgres, Window: time.Second}) }

// One delivery is all that a message gets: each whose consumer is killed is set aside, and the orphan that it left is found, and not
// held against the strategy, since nobody could come back to it.
func setsAside(t *testing.T, on Broker) {
	o := small(t, scenarios.InsertFirst)
	o.Broker, o.Kills, o.MaxDeliveries, o.Prefetch = on, 3, 1, 1
	r := run(t, o)
	expect(t, r, results.Inconclusive, check.ExitInconclusive)
	if n := r.Consume; n.DeadLettered < 3 || n.Kills.Made != 3 || *r.Counts.Orphans != 1 || !strings.Contains(r.Reason, "were set aside before anybody could clear up") {
		t.Errorf("%s: %d orphans; %+v", r.Reason, *r.Counts.Orphans, n)
	}
}

// Nothing can be learned of what never happened.
func TestWhatProvesNothingIsInconclusive(t *testing.T) {
	for reason, change := range map[string]func(*Options){
		"no charge came to a consumer twice": func(o *Options) { o.Broker.Window = time.Hour },
		"no control was run":                 func(o *Options) { o.Control = nil },
		"may go unseen":                      func(o *Options) { o.Control = &results.Control{Ran: true, ForcedCharge: &results.ForcedCharge{}} },
		"the acquirer approved nothing":      func(o *Options) { o.Acquirer.DeclineShare = 1 },
		"no two consumers were at work":      func(o *Options) { o.Consumers, o.Prefetch, o.Second.Share = 1, 1, 1 },
	} {
		t.Run(reason, func(t *testing.T) {
			t.Parallel()
			o := patient(small(t, scenarios.InsertFirst))
			change(&o)
			if r := run(t, o); r.Verdict != results.Inconclusive || r.ExitCode != check.ExitInconclusive || !strings.Contains(r.Reason, reason) {
				t.Errorf("%s, exit %d: %s", r.Verdict, r.ExitCode, r.Reason)
			}
		})
	}
}

// Every strategy of the scenario consumes, and none does what it claims not to do.
func TestEveryStrategyConsumes(t *testing.T) {
	srv := servertest.Server(t)
	var all errgroup.Group
	all.SetLimit(8) // more than t.Parallel has processors for: most of it is waiting, for windows and for claims to grow old
	for _, s := range scenarios.ChargeOnce.Strategies() {
		if s.Lacking(srv.Info().VersionNum) != "" {
			continue
		}
		o := small(t, s)
		o.Charges, o.Kills, o.MaxDeliveries = 6, 3, 1000 // a claim grows old while its message comes again, and on a busy machine that takes many
		if s.Name == scenarios.CatchInTx.Name {
			o.MaxDeliveries = 80 // it comes to its end no other way
		}
		all.Go(func() error {
			r, err := Run(t.Context(), srv, o)
			if err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			agrees(t, r)
			if r.ExitCode != check.ExitHeld && r.ExitCode != check.ExitInconclusive {
				t.Errorf("%s: %s, exit %d: %s; answers %v, states %v", s.Name, r.Verdict, r.ExitCode, r.Reason, r.Answers, r.SQLStates)
			}
			// What answers every repeat with an error can never be acknowledged once it has died.
			ends := s.Name != scenarios.CatchInTx.Name
			n, forNobody := r.Consume, 0
			if s.Name == scenarios.BusinessEvent.Name { // a claim is taken away, and the event that was claimed with it stays
				forNobody = n.Orphans.Released
			}
			if (n.Acknowledged >= n.Messages-forNobody) != ends {
				t.Errorf("%s: %d of %d acknowledged", s.Name, n.Acknowledged, n.Messages)
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		t.Error(err)
	}
}

func TestInterrupted(t *testing.T) { interrupted(t, Broker{Name: Postgres, Window: time.Second}) }

// Ctrl-C in the middle of it ends it, with what was measured until then, and leaves nothing.
func interrupted(t *testing.T, on Broker) {
	srv := servertest.Server(t)
	before := goleak.IgnoreCurrent()
	ctx, cancel := context.WithCancel(t.Context())
	var done atomic.Int64
	o := small(t, scenarios.InsertFirst)
	o.Broker, o.Done, o.Charges, o.Kills = on, &done, 5000, 500
	go func() {
		for done.Load() < 3 {
			time.Sleep(time.Millisecond) // between two looks at what the run counts
		}
		cancel()
	}()
	r, err := Run(ctx, srv, o)
	if err != nil || r.Status != results.Aborted || r.Verdict != results.Inconclusive || r.Consume == nil || r.Consume.Unfinished == 0 || r.Counts.Captures < 3 {
		t.Errorf("%v, %s, %s (%s): %+v", err, r.Status, r.Verdict, r.Reason, r.Consume)
	}
	goleak.VerifyNone(t, before)
	if n := count(t, srv.Config(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab%'`); n != 0 {
		t.Errorf("%d schemas left", n)
	}
}

func count(t *testing.T, cfg *pgx.ConnConfig, sql string) (n int) {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// What cannot go on says why, and leaves nothing.
func TestFailures(t *testing.T) {
	t.Run("no consumer can be started", func(t *testing.T) {
		o := small(t, scenarios.InsertFirst)
		o.Child = []string{"/nonexistent/consumer"}
		if _, err := Run(t.Context(), servertest.Server(t), o); err == nil || !strings.Contains(err.Error(), "start a consumer") {
			t.Error(err)
		}
	})
	t.Run("a consumer ends by itself", func(t *testing.T) {
		o := small(t, scenarios.InsertFirst)
		o.Child[1] = "-test.run=NoTestOfThisName" // it takes the setup for nothing and ends
		if _, err := Run(t.Context(), servertest.Server(t), o); err == nil || !strings.Contains(err.Error(), "that nobody had killed") {
			t.Error(err)
		}
	})
	t.Run("the broker is not there", func(t *testing.T) {
		o := small(t, scenarios.InsertFirst)
		o.Broker = Broker{Name: RabbitMQ, URL: "amqp://127.0.0.1:1/"}
		if _, err := Run(t.Context(), servertest.Server(t), o); err == nil || !strings.Contains(err.Error(), "connect to RabbitMQ") {
			t.Error(err)
		}
	})
	t.Run("the server has no disk left", func(t *testing.T) {
		o := small(t, scenarios.InsertFirst)
		o.DDL += `;
			CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$;
			CREATE TRIGGER full_disk BEFORE INSERT ON cobranca EXECUTE FUNCTION full_disk()`
		r, err := Run(t.Context(), servertest.Server(t), o)
		if !errors.Is(err, ErrServerLost) || r.Status != results.Errored || r.Verdict == results.Held {
			t.Errorf("%v: %s, %s", err, r.Status, r.Verdict)
		}
	})
	if n := count(t, servertest.Server(t).Config(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab%'`); n != 0 {
		t.Errorf("%d schemas left", n)
	}
}
