package explore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/internal/schedule"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

// nothingLeft looks for what a run must not leave behind: sessions, stopped backends, a changed setting.
func nothingLeft(t *testing.T, config *pgx.ConnConfig) {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	var standby string
	if err := conn.QueryRow(t.Context(), `SHOW synchronous_standby_names`).Scan(&standby); err != nil || standby != "" {
		t.Errorf("synchronous_standby_names is %q, %v", standby, err)
	}
	var left []string
	for range 100 { // a backend takes a moment to end after its connection has
		if left = others(t, conn); len(left) == 0 {
			break
		}
		time.Sleep(10 * time.Millisecond) // between looks: the end of a backend is announced nowhere
	}
	for _, l := range left {
		t.Errorf("left behind: %s", l)
	}
}

// others are the sessions in the schema's database that are in a transaction, wait, or are stopped.
func others(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT pid, state, coalesce(wait_event, ''), query FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() AND query NOT LIKE 'CREATE SCHEMA%'`) // whose connection holds the schema's lock
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	var pid int
	var state, event, query string
	_, err = pgx.ForEachRow(rows, []any{&pid, &state, &event, &query}, func() error {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		left = append(left, fmt.Sprintf("%d %s %s %q, stopped: %v", pid, state, event, query, strings.Contains(string(stat), ") T ")))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return left
}

func TestNothingIsLeftAfterAnInterrupt(t *testing.T) {
	for _, c := range []struct {
		strategy string
		sessions int
	}{{"insert-first-open-tx", 4}, {"tx-ser", 3}} {
		for _, after := range []time.Duration{20 * time.Millisecond, 133 * time.Millisecond, 317 * time.Millisecond} {
			o := options(named(c.strategy))
			o.Sessions, o.Crashes = c.sessions, 2
			config := place(t, o.Strategy)
			ctx, cancel := context.WithTimeout(t.Context(), after)
			r, err := explore.Run(ctx, config, o)
			cancel()
			if err != nil && ctx.Err() == nil {
				t.Errorf("%s: %v", c.strategy, err)
			}
			if r.Complete || err == nil && (r.Cut != "interrupted" || r.Coverage() != "cut") {
				t.Errorf("%s after %s: complete %v, cut %q, %s", c.strategy, after, r.Complete, r.Cut, r.Coverage())
			}
			nothingLeft(t, config)
		}
	}
}

func TestLimitsCutAndNeverHold(t *testing.T) {
	o := options(scenarios.InsertFirst)
	o.MaxSchedules = 5
	if r := run(t, o); r.Complete || r.Cut != "schedules" || r.Schedules != 5 {
		t.Errorf("complete %v, cut %q, %d schedules", r.Complete, r.Cut, r.Schedules)
	}
	o.MaxSchedules, o.Budget = 0, time.Nanosecond
	if r := run(t, o); r.Complete || r.Cut != "budget" {
		t.Errorf("complete %v, cut %q", r.Complete, r.Cut)
	}
	o.Search, o.Budget, o.MaxSchedules = explore.Random, 0, 20
	if r := run(t, o); r.Complete || r.Coverage() != "sampled" || r.Schedules != 20 {
		t.Errorf("random: complete %v, %s, %d schedules", r.Complete, r.Coverage(), r.Schedules)
	}
}

// Random walks do not go through all orders, but they know about how many there are.
func TestRandomWalksSayHowManyOrdersThereAre(t *testing.T) {
	o := options(scenarios.InsertFirst)
	o.Search = explore.Full
	full := run(t, o)
	if !full.Complete || full.Orders != 0 {
		t.Fatalf("full: %s, an estimate of %v", full.Coverage(), full.Orders)
	}
	o.Search, o.MaxSchedules = explore.Random, 200
	if r := run(t, o); r.Orders < float64(full.Schedules)/1.5 || r.Orders > float64(full.Schedules)*1.5 {
		t.Errorf("%v by estimate; there are %d", r.Orders, full.Schedules)
	}
}

func TestAPanicIsAnError(t *testing.T) {
	o := options(strategy("panics", func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
		return scenarios.Response{}, db.Session(ctx, func(db scenarios.DB) error {
			_, _ = db.Exec(ctx, `/* wait */ SELECT pg_advisory_lock(1)`)
			panic("as strategies do")
		})
	}))
	config := place(t, o.Strategy)
	_, err := explore.Run(t.Context(), config, o)
	if err == nil || !strings.Contains(err.Error(), "as strategies do") {
		t.Errorf("%v, want the panic's words", err)
	}
	nothingLeft(t, config)
}

func TestBadOptionsAreRefused(t *testing.T) {
	config := servertest.Server(t).Config()
	for _, change := range []func(*explore.Options){
		func(o *explore.Options) { o.Sessions = 0 },
		func(o *explore.Options) { o.Sessions = 5 },
		func(o *explore.Options) { o.AttemptsPerSession = 0 },
		func(o *explore.Options) { o.Crashes = -1 },
		func(o *explore.Options) { o.Lease = time.Second }, // longer than a turn, and maybe not than all
		func(o *explore.Options) { o.Lease = -1 },
		func(o *explore.Options) { o.Search = explore.Random },
		func(o *explore.Options) { o.Search = "depth-first" },
		func(o *explore.Options) { o.Strategy = scenarios.Strategy{} },
	} {
		o := explore.Defaults(scenarios.InsertFirst)
		change(&o)
		if _, err := explore.Run(t.Context(), config, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// The interrupt comes while two sessions wait with their backends stopped, and while a COMMIT is held.
func TestNothingIsLeftOfStoppedBackendsAndHeldCommits(t *testing.T) {
	for name, c := range map[string]struct {
		schedule string
		lock     bool
		captures int // the context ends with this one
	}{
		"stopped": {"A:lock B:lock C:lock A:look A:capture", true, 1},
		"held":    {"A:look B:look A:capture A:insert A:commit B:capture", false, 2},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			captures := 0 // one session runs at a time
			s := unconstrained(strategy(name, func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
				return inTx(ctx, db, pgx.Serializable, 1, func(tx pgx.Tx) (scenarios.Response, error) {
					if c.lock {
						if _, err := tx.Exec(ctx, forUpdate, -1); err != nil {
							return scenarios.Response{}, err
						}
					}
					if r, found, err := look(tx.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
						return r, err
					}
					if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
						return scenarios.Response{}, err
					}
					if captures++; captures == c.captures {
						cancel()
					}
					return insert(ctx, tx, req)
				})
			}))
			o := options(s)
			o.Sessions = 3
			config := place(t, s)
			text, err := schedule.Parse(c.schedule)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := explore.Replay(ctx, config, o, text); !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want an interrupt", err)
			}
			nothingLeft(t, config)
		})
	}
}
