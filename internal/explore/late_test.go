package explore_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/explore"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

// settling charges once, under the order's lock, and has more done as it answers.
func settling(more func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request)) scenarios.Strategy {
	charge := lockThenCheck(pgx.ReadCommitted, forUpdate)
	return unconstrained(strategy("settling", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		r, err := charge(ctx, db, acq, req)
		more(context.WithoutCancel(ctx), db, acq, req)
		return r, err
	}))
}

// answered returns when the handler has: a goroutine that is quicker makes its step before the answer, where it can be put into order.
func answered(ctx context.Context) {
	for !explore.Over(ctx) {
		runtime.Gosched()
	}
}

// A second capture that nobody waits for, however it is come by: never held, and never violated for what was not done.
func TestWhatGoesOnAfterItsAnswerIsInconclusive(t *testing.T) {
	again := func(ctx context.Context, acq scenarios.Acquirer, req scenarios.Request) {
		answered(ctx)
		_, _ = acq.Capture(ctx, scenarios.Charge(req))
	}
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	for name, more := range map[string]func(context.Context, scenarios.DB, scenarios.Acquirer, scenarios.Request){
		"a goroutine": func(ctx context.Context, _ scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) {
			go again(ctx, acq, req)
		},
		"a timer": func(ctx context.Context, _ scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) {
			time.AfterFunc(100*time.Millisecond, func() { again(ctx, acq, req) })
		},
		"a goroutine that waits": func(ctx context.Context, _ scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) {
			go func() {
				<-never
				again(ctx, acq, req)
			}()
		},
		"a statement": func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) {
			go func() {
				answered(ctx)
				_, _ = db.Exec(ctx, forUpdate, req.OrderID)
			}()
		},
		"a transaction": func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) {
			go func() {
				answered(ctx)
				if tx, err := db.BeginTx(ctx, pgx.TxOptions{}); err == nil {
					_ = tx.Rollback(ctx)
				}
			}()
		},
	} {
		for sessions := range 2 {
			o := options(settling(more)).Patient(500 * time.Millisecond)
			o.Sessions = 1 + sessions
			r := run(t, o)
			if r.Complete || !strings.Contains(r.Inconclusive, "goes on after its answer") || len(r.Violations) > 0 {
				t.Errorf("%s, %d sessions: complete %v, inconclusive %q, %v", name, o.Sessions, r.Complete, r.Inconclusive, r.Violations)
			}
		}
	}
}

// What ends with the answer, or soon after it without another step, is nobody's business.
func TestWhatEndsWithoutAStepIsHeld(t *testing.T) {
	var kept []context.Context
	t.Cleanup(func() { runtime.KeepAlive(kept) })
	for name, more := range map[string]func(context.Context, scenarios.DB, scenarios.Acquirer, scenarios.Request){
		"a goroutine that is waited for": func(ctx context.Context, _ scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) {
			done := make(chan struct{})
			go func() {
				defer close(done)
				_, _, _ = acq.Find(ctx, req.Key)
			}()
			<-done
		},
		"a goroutine that holds it for a while": func(ctx context.Context, _ scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) {
			slow, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			go func() {
				defer cancel()
				<-slow.Done()
				if ctx.Err() != nil { // never: it has no end
					_, _ = acq.Capture(ctx, scenarios.Charge(req))
				}
			}()
		},
		"a context that is kept": func(ctx context.Context, _ scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) {
			kept = append(kept, ctx)
		},
	} {
		r := run(t, options(settling(more)))
		if got := found(t, r); len(got) > 0 {
			t.Errorf("%s: found %v", name, got)
		}
	}
}

// A single order is not believed either.
func TestAnOrderThatGoesOnAfterItsAnswer(t *testing.T) {
	s := settling(func(ctx context.Context, _ scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) {
		go func() {
			answered(ctx)
			_, _ = acq.Capture(ctx, scenarios.Charge(req))
		}()
	})
	o := options(s)
	o.Sessions = 1
	for _, text := range []string{"A:lock A:look", "A:lock A:look A:capture A:insert A:commit"} {
		if _, err := replay(t, o, text); err == nil || !strings.Contains(err.Error(), "goes on after its answer") {
			t.Errorf("%s: %v", text, err)
		}
	}
	c := explore.Case{Scenario: s.Scenario(), Options: o, DDL: ddl(t), Expect: check.ExpectHeld, Schedule: parsed(t, "A:lock")}
	if r, err := c.Run(t.Context(), servertest.Server(t)); err != nil || r.ExitCode != check.ExitInconclusive || !strings.Contains(r.Reason, "goes on after its answer") {
		t.Errorf("%s, exit %d (%s), %v", r.Verdict, r.ExitCode, r.Reason, err)
	}
}
