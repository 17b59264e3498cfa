package explore_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/explore"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

// patient locks with the statement given, under whatever limits the wait, and charges without the lock where it does not get it: whoever
// has it has been at it for long.
func patient(iso pgx.TxIsoLevel, lock string, limit func(context.Context, pgx.Tx) (context.Context, context.CancelFunc, error)) scenarios.Strategy {
	return unconstrained(strategy("patient", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: iso})
		if err != nil {
			return scenarios.Response{}, err
		}
		defer tx.Rollback(ctx)
		short, cancel, err := limit(ctx, tx)
		if err != nil {
			return scenarios.Response{}, err
		}
		defer cancel()
		if _, err := tx.Exec(short, lock, req.OrderID); err != nil {
			_ = tx.Rollback(ctx)
			return captureAndInsert(ctx, db, acq, req)
		}
		if r, found, err := look(tx.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
			return r, err
		}
		r, err := captureAndInsert(ctx, tx, acq, req)
		if err != nil {
			return r, err
		}
		return r, tx.Commit(ctx)
	}))
}

func sets(sql string) func(context.Context, pgx.Tx) (context.Context, context.CancelFunc, error) {
	return func(ctx context.Context, tx pgx.Tx) (context.Context, context.CancelFunc, error) {
		_, err := tx.Exec(ctx, `/* limit */ `+sql)
		return ctx, func() {}, err
	}
}

func waitsFor(d time.Duration) func(context.Context, pgx.Tx) (context.Context, context.CancelFunc, error) {
	return func(ctx context.Context, _ pgx.Tx) (context.Context, context.CancelFunc, error) {
		short, cancel := context.WithTimeout(ctx, d)
		return short, cancel, nil
	}
}

// Where a limit could have ended a wait, nobody has looked at what comes then: not held. Where nobody waits it limits nothing.
func TestALimitInTimeIsNotHeld(t *testing.T) {
	rc := pgx.ReadCommitted
	for name, c := range map[string]struct {
		s    scenarios.Strategy
		says string // in two sessions; in one it holds
	}{
		"no limit":           {patient(rc, forUpdate, sets(`SET LOCAL application_name = 'x'`)), ""},
		"deadlocks only":     {patient(rc, forUpdate, sets(`SET LOCAL deadlock_timeout = '2ms'`)), ""},
		"a row":              {patient(rc, forUpdate, sets(`SET LOCAL lock_timeout = '1min'`)), "lock_timeout"},
		"an advisory lock":   {patient(rc, advisory, sets(`SET LOCAL lock_timeout = '1min'`)), "lock_timeout"},
		"a statement":        {patient(rc, forUpdate, sets(`SELECT set_config('statement_timeout', '1min', true)`)), "statement_timeout"},
		"who is waited for":  {patient(rc, forUpdate, sets(`SET LOCAL idle_in_transaction_session_timeout = '1min'`)), "idle_in_transaction_session_timeout"},
		"a deadline":         {patient(rc, forUpdate, waitsFor(time.Minute)), "the deadline of its context"},
		"a connection's own": {patient(rc, forUpdate, sets(`SET lock_timeout = '1min'`)), "lock_timeout"},
		"a mutex, a deadline": {scenarios.Strategy{Name: "mutex", Without: []string{scenarios.KeyConstraint}, New: func(env scenarios.Env) scenarios.Handler {
			inner := env.Lock
			env.Lock = func(ctx context.Context, name string) (func(), error) {
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				return inner(ctx, name)
			}
			return underMutex.New(env)
		}}, "the deadline of its context"},
	} {
		for sessions := range 2 {
			o := options(c.s)
			o.Sessions = 1 + sessions
			r := run(t, o)
			want := c.says
			if sessions == 0 {
				want = ""
			}
			if (r.Inconclusive == "") != (want == "") || !strings.Contains(r.Inconclusive, want) || len(r.Violations) > 0 || r.Coverage() != "exhaustive" {
				t.Errorf("%s, %d sessions: %s, inconclusive %q, %v", name, o.Sessions, r.Coverage(), r.Inconclusive, r.Violations)
			}
		}
	}
}

// A wait that is over before anybody sees it is one too.
func TestAVeryShortLimitIsNotHeld(t *testing.T) {
	for name, limit := range map[string]func(context.Context, pgx.Tx) (context.Context, context.CancelFunc, error){
		"lock_timeout": sets(`SET LOCAL lock_timeout = '1ms'`), "a deadline": waitsFor(2 * time.Millisecond),
	} {
		if r := run(t, options(patient(pgx.ReadCommitted, forUpdate, limit))); r.Inconclusive == "" {
			t.Errorf("%s: %s, %d schedules, inconclusive %q", name, r.Coverage(), r.Schedules, r.Inconclusive)
		}
	}
}

// What was found stands: no limit excuses it.
func TestALimitInTimeExcusesNothing(t *testing.T) {
	s := patient(pgx.RepeatableRead, advisory, sets(`SELECT set_config('lock_timeout', '1min', true)`))
	r, err := explore.Case{Scenario: s.Scenario(), Options: options(s), DDL: ddl(t), Expect: check.ExpectHeld}.Run(t.Context(), servertest.Server(t))
	if err != nil || r.ExitCode != check.ExitViolated || !strings.Contains(r.Reason, string(scenarios.DoubleCharge)) {
		t.Errorf("%s, exit %d (%s), %v", r.Verdict, r.ExitCode, r.Reason, err)
	}
}

// The limit may be the server's, the role's or the connection string's, or hide in a function.
func TestALimitThatNoStatementNames(t *testing.T) {
	for name, c := range map[string]struct {
		s         scenarios.Strategy
		ddl       string
		param     string
		undecided bool
	}{
		"of the connection":            {scenarios.InsertFirst, "", "lock_timeout", true},
		"of idle transactions":         {scenarios.InsertFirst, "", "idle_in_transaction_session_timeout", true},
		"of statements, nobody waits":  {unconstrained(strategy("bare", lockThenCheck(pgx.ReadCommitted, ""))), "", "statement_timeout", false},
		"of deadlocks":                 {scenarios.InsertFirst, "", "deadlock_timeout", false},
		"of a function":                {scenarios.InsertFirst, `CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql SET lock_timeout = '1min' AS 'BEGIN END';`, "", true},
		"of a function that sets it":   {scenarios.InsertFirst, `CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS 'BEGIN SET lock_timeout = 1000; END';`, "", true},
		"of a function of other times": {scenarios.InsertFirst, `CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM now(); END';`, "", false},
	} {
		config := placeWith(t, c.s, c.ddl)
		if c.param != "" {
			config.RuntimeParams[c.param] = "60000"
		}
		r, err := explore.Run(t.Context(), config, options(c.s))
		if err != nil || (r.Inconclusive != "") != c.undecided {
			t.Errorf("%s: inconclusive %q, %v", name, r.Inconclusive, err)
		}
	}
}

// One order in which somebody waited under a limit is no proof either; one in which nobody did is one.
func TestAnOrderUnderALimit(t *testing.T) {
	s := patient(pgx.ReadCommitted, forUpdate, sets(`SET LOCAL lock_timeout = '1min'`))
	for text, want := range map[string]int{
		"A:limit A:lock B:limit B:lock":                             check.ExitInconclusive,
		"A:limit A:lock A:look A:capture A:insert A:commit B:limit": check.ExitHeld,
	} {
		c := explore.Case{Scenario: s.Scenario(), Options: options(s), DDL: ddl(t), Expect: check.ExpectHeld, Schedule: parsed(t, text)}
		if r, err := c.Run(t.Context(), servertest.Server(t)); err != nil || r.ExitCode != want || (want == check.ExitHeld) == strings.Contains(r.Reason, "lock_timeout") {
			t.Errorf("%s: %s, exit %d (%s), %v", text, r.Verdict, r.ExitCode, r.Reason, err)
		}
	}
}
