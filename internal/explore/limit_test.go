package explore_test

import (
	"context"
	"slices"
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
		return chargeIfNew(ctx, tx, acq, req)
	}))
}

// chargeIfNew looks, charges where there is nothing yet, and commits.
func chargeIfNew(ctx context.Context, tx pgx.Tx, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
	if r, found, err := look(tx.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
		return r, err
	}
	r, err := captureAndInsert(ctx, tx, acq, req)
	if err != nil {
		return r, err
	}
	return r, tx.Commit(ctx)
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
	rc, idle := pgx.ReadCommitted, "idle_in_transaction_session_timeout"
	for name, c := range map[string]struct {
		s    scenarios.Strategy
		says string // in two sessions; in one it holds, but where an acquirer who takes his time is enough
	}{
		"no limit":          {patient(rc, forUpdate, sets(`SET LOCAL application_name = 'x'`)), ""},
		"deadlocks only":    {patient(rc, forUpdate, sets(`SET LOCAL deadlock_timeout = '2ms'`)), ""},
		"a row":             {patient(rc, forUpdate, sets(`SET LOCAL lock_timeout = '1min'`)), "lock_timeout"},
		"an advisory lock":  {patient(rc, advisory, sets(`SET LOCAL lock_timeout = '1min'`)), "lock_timeout"},
		"a statement":       {patient(rc, forUpdate, sets(`SELECT set_config('statement_timeout', '1min', true)`)), "statement_timeout"},
		"while it asks":     {patient(rc, forUpdate, sets(`SET LOCAL `+idle+` = '1min'`)), idle},
		"who is waited for": {patient(rc, forUpdate, sets(`/* a row */ SELECT set_config('`+idle+`', '1min', true)`)), idle},
		"in an argument": {patient(rc, forUpdate, func(ctx context.Context, tx pgx.Tx) (context.Context, context.CancelFunc, error) {
			_, err := tx.Exec(ctx, `/* limit */ SELECT set_config($1, $2, true)`, "lock_timeout", "1min")
			return ctx, func() {}, err
		}), "lock_timeout"},
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
			if sessions == 0 && want != idle {
				want = ""
			}
			if (r.Inconclusive == "") != (want == "") || !strings.Contains(r.Inconclusive, want) || len(r.Violations) > 0 || r.Coverage() != "exhaustive" {
				t.Errorf("%s, %d sessions: %s, inconclusive %q, %v", name, o.Sessions, r.Coverage(), r.Inconclusive, r.Violations)
			}
		}
	}
}

// Who begins a transaction may say more than BEGIN; and a caller of the acquirer may lose patience with him, all alone.
func TestALimitThatIsSaidElsewhere(t *testing.T) {
	begins := unconstrained(strategy("begins", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		tx, err := db.BeginTx(ctx, pgx.TxOptions{BeginQuery: `BEGIN; SET LOCAL lock_timeout = '1min'`})
		if err != nil {
			return scenarios.Response{}, err
		}
		defer tx.Rollback(ctx)
		if _, err := tx.Exec(ctx, forUpdate, req.OrderID); err != nil {
			return scenarios.Response{}, err
		}
		return chargeIfNew(ctx, tx, acq, req)
	}))
	asks := strategy("asks", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		if r, found, err := look(db.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
			return r, err
		}
		short, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return captureAndInsert(short, db, acq, req)
	})
	for limit, c := range map[string]struct {
		s        scenarios.Strategy
		sessions int
	}{"lock_timeout": {begins, 2}, "the deadline of its context": {asks, 1}} {
		o := options(c.s)
		o.Sessions = c.sessions
		if r := run(t, o); !strings.Contains(r.Inconclusive, limit) || len(r.Violations) > 0 {
			t.Errorf("%s: %s, inconclusive %q, %v", c.s.Name, r.Coverage(), r.Inconclusive, r.Violations)
		}
	}
}

// A wait that is over before anybody sees it is one too.
func TestAVeryShortLimitIsNotHeld(t *testing.T) {
	for name, limit := range map[string]func(context.Context, pgx.Tx) (context.Context, context.CancelFunc, error){
		"lock_timeout": sets(`SET LOCAL lock_timeout = '1ms'`), "a deadline": waitsFor(2 * time.Millisecond),
	} {
		r := run(t, options(patient(pgx.ReadCommitted, forUpdate, limit)))
		// Which it is depends on the pace: a limit that was seen, a wait that ended by itself, or one that ends when it likes.
		if !slices.ContainsFunc([]string{name, "a timeout?", "diverged"}, func(why string) bool { return strings.Contains(r.Inconclusive, why) }) {
			t.Errorf("%s: %s, %d schedules, inconclusive %q", name, r.Coverage(), r.Schedules, r.Inconclusive)
		}
	}
}

// Whoever has a mutex may lose it with its transaction; and a limit that is set while somebody waits counts as one that was there before.
func TestTheLimitOfWhoeverIsWaitedFor(t *testing.T) {
	const (
		idle  = "idle_in_transaction_session_timeout"
		limit = `/* limit */ SELECT set_config('` + idle + `', '1min', true)`
	)
	mutex := scenarios.Strategy{Name: "mutex", New: func(env scenarios.Env) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			unlock, err := env.Lock(ctx, "charge")
			if err != nil {
				return scenarios.Response{}, err
			}
			defer unlock()
			tx, err := db.BeginTx(ctx, pgx.TxOptions{})
			if err != nil {
				return scenarios.Response{}, err
			}
			defer tx.Rollback(ctx)
			if _, err := tx.Exec(ctx, limit); err != nil {
				return scenarios.Response{}, err
			}
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, tx.Commit(ctx)
		}
	}}
	o := options(mutex)
	if r := run(t, o); !strings.Contains(r.Inconclusive, idle) {
		t.Errorf("behind a mutex: %s, inconclusive %q", r.Coverage(), r.Inconclusive)
	}

	// The limit is set when somebody waits already.
	s := strategy("later", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		tx, err := db.BeginTx(ctx, pgx.TxOptions{})
		if err != nil {
			return scenarios.Response{}, err
		}
		defer tx.Rollback(ctx)
		for _, sql := range []string{forUpdate, `/* first */ SELECT $1::bigint`, limit + ` WHERE $1::bigint > 0`} {
			if _, err := tx.Exec(ctx, sql, req.OrderID); err != nil {
				return scenarios.Response{}, err
			}
		}
		return chargeIfNew(ctx, tx, acq, req)
	})
	c := explore.Case{Scenario: s.Scenario(), Options: options(s), DDL: ddl(t), Expect: check.ExpectHeld, Schedule: parsed(t, "A:lock B:lock A:first A:limit")}
	if r, err := c.Run(t.Context(), servertest.Server(t)); err != nil || r.ExitCode != check.ExitInconclusive || !strings.Contains(r.Reason, `session B waited at step "lock", and `+idle) {
		t.Errorf("set later: %s, exit %d (%s), %v", r.Verdict, r.ExitCode, r.Reason, err)
	}
}

// Who does not wait is ended by no limit: NOWAIT's refusal is the code of lock_timeout's.
func TestARefusalWithoutAWaitIsNoLimits(t *testing.T) {
	s := unconstrained(strategy("nowait", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		tx, err := db.BeginTx(ctx, pgx.TxOptions{})
		if err != nil {
			return scenarios.Response{}, err
		}
		defer tx.Rollback(ctx)
		if _, err := tx.Exec(ctx, `/* limit */ SELECT set_config('statement_timeout', '1min', true)`); err != nil {
			return scenarios.Response{}, err
		}
		if _, err := tx.Exec(ctx, forUpdate+` NOWAIT`, req.OrderID); err != nil {
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, nil
		}
		return chargeIfNew(ctx, tx, acq, req)
	}))
	if got := found(t, run(t, options(s))); len(got) > 0 {
		t.Errorf("found %v", got)
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
