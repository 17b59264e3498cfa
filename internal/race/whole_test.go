package race

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/server/servertest"
	"idemlab/internal/tables"
	"idemlab/results"
	"idemlab/scenarios"
)

// around puts f around a strategy's handler.
func around(s scenarios.Strategy, f func(handle scenarios.Handler) scenarios.Handler) scenarios.Strategy {
	inner := s.New
	s.New = func(env scenarios.Env) scenarios.Handler { return f(inner(env)) }
	return s
}

// A key is for one operation: another order under it is refused as another amount is, by every strategy that goes by the key
// the client sent.
func TestAnotherOrderUnderTheKeyIsRefused(t *testing.T) {
	for _, s := range scenarios.ChargeOnce.Strategies() {
		t.Run(s.Name, func(t *testing.T) {
			srv := servertest.Server(t)
			if why := s.Lacking(srv.Info().VersionNum); why != "" {
				t.Skip(s.Name, why)
			}
			o := small(t, s)
			schema, err := tables.Create(t.Context(), srv, o.DDL, s)
			if err != nil {
				t.Fatal(err)
			}
			defer schema.Drop(context.WithoutCancel(t.Context()))
			inst, err := instance.Open(t.Context(), instance.Config{Conn: schema.Config(), Pool: 2, Isolation: pgx.ReadCommitted, Strategy: s})
			if err != nil {
				t.Fatal(err)
			}
			defer inst.Close()
			aside, err := pgx.ConnectConfig(t.Context(), schema.Config())
			if err != nil {
				t.Fatal(err)
			}
			defer aside.Close(context.WithoutCancel(t.Context()))

			acq, it := acquirer.New(acquirer.Options{Dedup: s.WantsDedup}), newIntent(1, 1, 0)
			ask := func(req scenarios.Request) instance.Record {
				if err := instance.Prepare(t.Context(), aside, s.Scenario(), s, req, 1); err != nil {
					t.Fatal(err)
				}
				return inst.Handle(t.Context(), acq.For(it.req.Key), req)
			}
			otherOrder := it.req
			otherOrder.OrderID++
			if rec := ask(it.req); rec.Answer != scenarios.Charged {
				t.Fatalf("the first is told %s (%s)", rec.Answer, rec.Err)
			}
			want, captures := scenarios.Mismatched, 1
			switch s.Name {
			case scenarios.OrderIDKey.Name, scenarios.NewKeyPerRetry.Name:
				want, captures = scenarios.Charged, 2 // they make a key of their own, and know nothing of the client's
			case scenarios.StoreNothing.Name:
				want, captures = scenarios.Charged, 2 // it has forgotten the first
			case scenarios.UniqueEffectFirst.Name:
				captures = 2 // it looks when the money has moved
			case scenarios.CatchInTx.Name:
				want = scenarios.Failed // as every repeat does
			}
			if rec := ask(otherOrder); rec.Answer != want {
				t.Errorf("another order is told %s (%s), want %s", rec.Answer, rec.Err, want)
			}
			if n := acq.Counts()[it.req.Key].Captures; n != captures {
				t.Errorf("%d captures, want %d", n, captures)
			}
		})
	}
}

// What a follow-up does to the ledger, and what it is told, is judged: the customer does not care when the second charge came.
func TestAFollowupThatGoesWrongIsFound(t *testing.T) {
	for name, c := range map[string]struct {
		wrong func(resp *scenarios.Response, capture func(cents int64))
		want  scenarios.Anomaly
		cents int64 // for each intent
	}{
		"captures again":         {func(_ *scenarios.Response, capture func(int64)) { capture(amountCents) }, scenarios.DoubleCharge, 2 * amountCents},
		"captures other money":   {func(_ *scenarios.Response, capture func(int64)) { capture(7) }, scenarios.DoubleCharge, amountCents + 7},
		"is told other bytes":    {func(resp *scenarios.Response, _ func(int64)) { resp.Body += " " }, scenarios.DivergentAnswers, amountCents},
		"is told another status": {func(resp *scenarios.Response, _ func(int64)) { resp.HTTP = 200 }, scenarios.DivergentAnswers, amountCents},
	} {
		t.Run(name, func(t *testing.T) {
			o := small(t, around(scenarios.InsertFirst, func(handle scenarios.Handler) scenarios.Handler {
				var n atomic.Int64
				return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
					resp, err := handle(ctx, db, acq, req)
					const repeat = 3 // after the attempts
					if req.OrderID > firstOrder && n.Add(1)%(2+3) == repeat {
						c.wrong(&resp, func(cents int64) {
							_, err = acq.Capture(ctx, scenarios.Charge{Key: req.Key, OrderID: req.OrderID, AmountCents: cents})
						})
					}
					return resp, err
				}
			}))
			o.Attempts, o.Pool, o.Intents, o.Rounds = 2, 2, 2, 1
			r := run(t, o)
			if r.Verdict != results.Violated || r.ExitCode != 1 || !strings.Contains(r.Reason, string(c.want)) {
				t.Errorf("%s, exit %d: %s", r.Verdict, r.ExitCode, r.Reason)
			}
			if r.Counts.CapturedCents != 2*c.cents || r.Counts.OwedCents != 2*amountCents {
				t.Errorf("taken %d cents of %d owed, want %d", r.Counts.CapturedCents, r.Counts.OwedCents, 2*c.cents)
			}
			if same := c.want == scenarios.DoubleCharge; (r.Followups.ReplayedSameBytes == 2) != same {
				t.Errorf("%d of %d replayed with the same bytes", r.Followups.ReplayedSameBytes, r.Followups.Repeats)
			}
		})
	}
}

// A strategy that charges another amount than it was asked for: money is what moved.
func TestCapturedMoneyIsTheLedgers(t *testing.T) {
	o := small(t, around(scenarios.InsertFirst, func(handle scenarios.Handler) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			return handle(ctx, db, double{acq}, req)
		}
	}))
	o.Attempts, o.Pool, o.Intents, o.Rounds = 2, 2, 2, 1
	r := run(t, o)
	if r.Counts.CapturedCents != 2*2*amountCents || r.Counts.OwedCents != 2*amountCents || r.Counts.Captures != 2 {
		t.Errorf("%+v", r.Counts)
	}
	if r.Verdict != results.Violated || !strings.Contains(r.Reason, string(scenarios.ChargedWithoutRecord)) {
		t.Errorf("%s (%s): the row says half of what was taken", r.Verdict, r.Reason)
	}
}

type double struct{ scenarios.Acquirer }

func (d double) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	c.AmountCents *= 2
	return d.Acquirer.Capture(ctx, c)
}

// Before the gun every connection of the pool has answered twice; progress and rounds add up to the intents.
func TestRaceIsWarmAndCountsItsIntents(t *testing.T) {
	var mu sync.Mutex
	warmUps, tooLate := map[uint32]int{}, 0
	begun := false
	o := small(t, around(scenarios.CheckThenAct, func(handle scenarios.Handler) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			mu.Lock()
			warm := req.OrderID < 0
			begun = begun || !warm
			if warm && begun {
				tooLate++
			}
			mu.Unlock()
			if warm {
				var pid uint32
				if err := db.QueryRow(ctx, `/* who */ SELECT pg_backend_pid()`).Scan(&pid); err != nil {
					return scenarios.Response{}, err
				}
				mu.Lock()
				warmUps[pid]++
				mu.Unlock()
			}
			return handle(ctx, db, acq, req)
		}
	}))
	var done atomic.Int64
	o.Attempts, o.Pool, o.Intents, o.Rounds, o.Done = 3, 4, 2, 3, &done
	r := run(t, o)
	if len(warmUps) != o.Pool || tooLate > 0 {
		t.Errorf("%d of %d connections warmed up, %d requests of that too late", len(warmUps), o.Pool, tooLate)
	}
	for pid, n := range warmUps {
		if n != 2 {
			t.Errorf("backend %d answered %d times before the race", pid, n)
		}
	}
	if done.Load() != 6 {
		t.Errorf("progress says %d of 6 intents", done.Load())
	}
	if len(r.Rounds) != 3 {
		t.Fatalf("rounds %+v", r.Rounds)
	}
	for i, x := range r.Rounds {
		if x.Intents != 2 || x.IntentsDoubleCharged != 2 || x.Captures != x.DuplicateCaptures+2 {
			t.Errorf("round %d: %+v", i+1, x)
		}
	}
}

// Instances in processes of their own are warm, too: each connection has left the row of its throw-away order.
func TestInstancesAreWarm(t *testing.T) {
	srv := servertest.Server(t)
	conn, err := pgx.ConnectConfig(t.Context(), srv.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	for _, instances := range []int{1, 2} {
		o := small(t, scenarios.CheckThenAct)
		o.Instances, o.Pool, o.Attempts, o.Intents, o.Rounds, o.Keep = instances, 3, 4, 1, 1, true
		var kept string
		o.Kept = func(schema string) { kept = schema }
		run(t, o)
		var warmUps int
		name := pgx.Identifier{kept}.Sanitize()
		if err := conn.QueryRow(t.Context(), `SELECT count(DISTINCT pedido_id) FROM `+name+`.cobranca WHERE pedido_id < 0`).Scan(&warmUps); err != nil {
			t.Error(err)
		}
		if _, err := conn.Exec(t.Context(), `DROP SCHEMA `+name+` CASCADE`); err != nil {
			t.Error(err)
		}
		if warmUps != instances*o.Pool {
			t.Errorf("%d instances: %d connections warmed up, want %d", instances, warmUps, instances*o.Pool)
		}
	}
}
