package explore_test

import (
	"context"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/scenarios"
)

func same(t *testing.T, what string, a, b explore.Result) {
	t.Helper()
	if a.Fingerprint != b.Fingerprint || a.Schedules != b.Schedules {
		t.Errorf("%s: %s: %d schedules %s, and %d schedules %s", a.Options.Strategy.Name, what, a.Schedules, a.Fingerprint, b.Schedules, b.Fingerprint)
	}
	if a.Divergences+b.Divergences > 0 {
		t.Errorf("%s: %s: %d and %d divergences", a.Options.Strategy.Name, what, a.Divergences, b.Divergences)
	}
}

func TestEachRunIsTheSame(t *testing.T) {
	for _, name := range []string{"check-then-act", "insert-first", "insert-first-batched", "insert-first-open-tx", "two-locks", "tx-ser"} {
		o := options(named(name))
		first := run(t, o)
		for range 2 {
			same(t, "run again", first, run(t, o))
		}
	}
}

// What attempts do in their process's memory before their first step comes in the same order in each schedule.
func TestBeforeTheFirstStepIsInOrder(t *testing.T) {
	s := scenarios.InsertFirst
	s.Name = "whoever-comes-first"
	s.New = func(env scenarios.Env) scenarios.Handler {
		h, comes := scenarios.InsertFirst.New(env), atomic.Int32{}
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if comes.Add(1) == 1 {
				if _, err := db.Exec(ctx, `/* first */ SELECT 1`); err != nil {
					return scenarios.Response{}, err
				}
			}
			return h(ctx, db, acq, req)
		}
	}
	o := options(s)
	o.Sessions = 3
	first := run(t, o)
	if !first.Complete {
		t.Fatalf("%s: %s", first.Coverage(), first.Inconclusive)
	}
	same(t, "run again", first, run(t, o))
}

func TestHowWaitsAreNoticedDoesNotMatter(t *testing.T) {
	for _, name := range []string{"insert-first", "insert-first-open-tx", "for-update-rr"} {
		o := options(named(name))
		o.OwnCluster = false
		told := run(t, o)
		o.Poll = true
		polled := run(t, o)
		if !told.Notices || polled.Notices || told.BlockedSteps == 0 {
			t.Fatalf("%s: notices %v and %v, %d steps waited", name, told.Notices, polled.Notices, told.BlockedSteps)
		}
		same(t, "told and polled", told, polled)
	}
}

// A death that rolls back on the same connection comes to what a death that closes the socket comes to.
func TestASoftDeathIsAHardDeath(t *testing.T) {
	for _, s := range []scenarios.Strategy{scenarios.InsertFirstOpenTx, named("advisory-rc")} {
		o := options(s)
		o.Crashes, o.Sessions = 1, 2
		o.MaxSchedules = 150
		soft := run(t, o)
		o.Hard = true
		hard := run(t, o)
		same(t, "soft and hard", soft, hard)
		if !maps.Equal(soft.Keys(), hard.Keys()) || !soft.Complete {
			t.Errorf("%s: soft (%s) came to %d outcomes, hard to %d", s.Name, soft.Coverage(), len(soft.Keys()), len(hard.Keys()))
		}
	}
}

// A role that may not set log_lock_waits is not told of waits, and asks instead: it finds the same.
func TestAnOrdinaryRoleSeesTheSame(t *testing.T) {
	o := options(scenarios.InsertFirstOpenTx)
	o.OwnCluster = false
	config := place(t, o.Strategy)
	told, err := explore.Run(t.Context(), config, o)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	const role = "explorer_without_rights"
	_, err = conn.Exec(t.Context(), `DROP ROLE IF EXISTS `+role+`; CREATE ROLE `+role+`;
		DO $$ BEGIN EXECUTE format('GRANT USAGE ON SCHEMA %I TO `+role+`; GRANT ALL ON ALL TABLES IN SCHEMA %I TO `+role+`', current_schema, current_schema); END $$`)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Exec(context.WithoutCancel(t.Context()), `DROP OWNED BY `+role+`; DROP ROLE `+role)
	config.RuntimeParams["role"] = role
	asked, err := explore.Run(t.Context(), config, o)
	if err != nil {
		t.Fatal(err)
	}
	if asked.Notices || !told.Notices {
		t.Errorf("told: %v and %v", told.Notices, asked.Notices)
	}
	same(t, "with and without rights", told, asked)
}

// Two runs at once on one server, and three sessions of which two are let go by one step.
func TestRunsAtOnceAreTheSame(t *testing.T) {
	o := options(scenarios.InsertFirstOpenTx)
	o.Sessions, o.Crashes, o.MaxSchedules = 3, 1, 200 // a death lets two go on, and one of them charges
	alone := run(t, o)
	if !alone.WakeOneByOne {
		t.Fatal("backends cannot be stopped here")
	}
	configs := []*pgx.ConnConfig{place(t, o.Strategy), place(t, o.Strategy)}
	results := make([]explore.Result, len(configs))
	errs := make([]error, len(configs))
	var wg sync.WaitGroup
	for i, config := range configs {
		wg.Go(func() { results[i], errs[i] = explore.Run(t.Context(), config, o) })
	}
	wg.Wait()
	for i, r := range results {
		if errs[i] != nil {
			t.Fatal(errs[i])
		}
		same(t, "alone and beside another", alone, r)
	}
}
