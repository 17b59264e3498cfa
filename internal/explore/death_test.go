package explore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"idemlab/scenarios"
)

// processes notes the seed of each process that a strategy is begun in.
func processes(s scenarios.Strategy) (scenarios.Strategy, *[]uint64) {
	var seeds []uint64
	inner := s.New
	s.New = func(env scenarios.Env) scenarios.Handler {
		seeds = append(seeds, env.Seed)
		return inner(env)
	}
	return s, &seeds
}

// A death ends one process: the next attempt is made in another, with a memory, a seed and locks of its own. Who shared the old one
// lives on in it.
func TestADeathEndsItsProcess(t *testing.T) {
	s, seeds := processes(remembers)
	trace, err := replay(t, options(s), "A:lock A:unlock a:capture A:lock B:lock B:unlock B:look")
	want := []string{
		"A:lock locked", "A:unlock unlocked", "A:capture dies, A died", "A:lock locked",
		"B:lock locked", "B:unlock unlocked", "B:look 0 rows, B in_progress", // it remembers A's first attempt
		"A:unlock unlocked", "A:capture captured", // which A's second does not
	}
	if got := turns(trace); err != nil || len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%v\ngot\n%s", err, strings.Join(got, "\n"))
	}
	if len(*seeds) != 2 || (*seeds)[0] == (*seeds)[1] {
		t.Errorf("processes of the seeds %v, want two", *seeds)
	}
}

// With a process its session ends: its temporary tables, and the number by which others know whether it lives.
func TestADeathEndsItsSession(t *testing.T) {
	for name, f := range map[string]scenarios.Handler{
		"a temporary table": func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			n := 0
			err := db.Session(ctx, func(db scenarios.DB) error {
				if _, err := db.Exec(ctx, `/* make */ CREATE TEMP TABLE IF NOT EXISTS mine (k bigint)`); err != nil {
					return err
				}
				if err := db.QueryRow(ctx, `/* look */ SELECT count(*) FROM mine WHERE k = $1`, req.OrderID).Scan(&n); err != nil {
					return err
				}
				_, err := db.Exec(ctx, `/* put */ INSERT INTO mine VALUES ($1)`, req.OrderID)
				return err
			})
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409, Body: fmt.Sprint(n)}, err
		},
		"its number": func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			var other, me int
			_ = db.QueryRow(ctx, `/* look */ SELECT versao FROM pedido WHERE id = $1`, -req.OrderID).Scan(&other) // none at first
			if err := db.QueryRow(ctx, `/* put */ INSERT INTO pedido (id, versao) VALUES ($1, pg_backend_pid()) ON CONFLICT (id) DO UPDATE SET versao = excluded.versao RETURNING versao`, -req.OrderID).Scan(&me); err != nil {
				return scenarios.Response{}, err
			}
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409, Body: fmt.Sprint(other == me)}, nil
		},
	} {
		o := options(strategy("of-a-session", f))
		o.Sessions, o.Crashes = 1, 1
		var keys [2]map[string]bool
		for i := range keys {
			o.Hard = i == 1
			keys[i] = run(t, o).Keys()
		}
		if !maps.Equal(keys[0], keys[1]) {
			t.Errorf("%s: a soft death came to %v, a hard one to %v", name, keys[0], keys[1])
		}
	}
}

// Who was told Failed lives, and tries again in the process that it is in.
func TestAFailureEndsNoProcess(t *testing.T) {
	s, seeds := processes(scenarios.Strategy{Name: "fails-first", New: func(scenarios.Env) scenarios.Handler {
		again := false
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			_, _, err := look(db.QueryRow(ctx, lookSQL, req.Key))
			if !again {
				again, err = true, errors.New("not the first time")
			}
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, err
		}
	}})
	o := options(s)
	o.Sessions = 1
	trace, err := replay(t, o, "A:look A:look")
	want := []string{"A:look 0 rows, A failed", "A:look 0 rows, A in_progress"}
	if got := turns(trace); err != nil || !slices.Equal(got, want) || len(*seeds) != 1 {
		t.Errorf("%v, %d processes\ngot\n%s", err, len(*seeds), strings.Join(got, "\n"))
	}
}

// Those who share a batch share its process, also the one that they come back in.
func TestABatchDiesAndComesBackInOneProcess(t *testing.T) {
	s, seeds := processes(gatherer("g", 64, firstOfAll))
	o := options(s)
	o.Sessions = 3
	trace, err := replay(t, o, "A:join B:join a:depart A:join B:join C:join A:depart C:depart")
	want := []string{
		"A:join leads", "B:join waits for A", "A:depart dies, B dies with A, A died, B died", "A:join leads", "B:join waits for A",
		"C:join leads", "A:depart 2 together", "C:depart alone",
	}
	if got := turns(trace); err != nil || len(got) < len(want) || !slices.Equal(got[:len(want)], want) || len(*seeds) != 2 {
		t.Errorf("%v, %d processes\ngot\n%s", err, len(*seeds), strings.Join(got, "\n"))
	}
}
