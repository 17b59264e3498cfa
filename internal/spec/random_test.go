package spec

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"idemlab/internal/server/servertest"
)

// statements are what a random session does. There is one lock, so that there is no deadlock, whose victim is a matter of time;
// and it queues in order, so that two waiters have no race.
func statements() []string {
	return []string{
		"SELECT pg_advisory_xact_lock(4010) AS locked;", "DO $$ BEGIN RAISE NOTICE 'before'; PERFORM pg_advisory_xact_lock(4010); RAISE NOTICE 'after'; END $$;",
		"INSERT INTO t VALUES (1) RETURNING id;", "SELECT count(*) FROM t;", "COMMIT; BEGIN;", "ROLLBACK; BEGIN;", "SELECT 1/0;",
		"SELECT 1 AS a; SELECT 'b' AS b;", "SELECT pg_try_advisory_xact_lock(4010) AS got;",
	}
}

func randomSpec(r *rand.Rand, sessions, steps int) Spec {
	s := Spec{Setup: []string{"CREATE TABLE t (id int);"}, Teardown: "DROP TABLE t;"}
	for i := range sessions {
		session := Session{Name: fmt.Sprintf("s%d", i), Setup: "BEGIN;", Teardown: "ROLLBACK;"}
		for j := range steps - 1 {
			sql := statements()[r.IntN(len(statements()))]
			if j == 0 && r.IntN(2) == 0 {
				sql = statements()[0] // else few of them would ever wait
			}
			session.Steps = append(session.Steps, Step{fmt.Sprintf("s%d_%d", i, j), sql})
		}
		session.Steps = append(session.Steps, Step{fmt.Sprintf("s%d_end", i), "COMMIT;"})
		s.Sessions = append(s.Sessions, session)
	}
	return s
}

func complete(r Result) (lines []string, orders []Permutation) {
	for _, o := range r.Orders {
		if o.Outcome == Complete {
			lines, orders = append(lines, o.Permutation.String()), append(orders, o.Permutation)
		}
	}
	return lines, orders
}

// For random specs: the orders that are run are those of all orders that do not end in a cancelled step, no other order is begun, and
// isolationtester runs each of them to its end, with the same output.
func TestFindsWhatCanHappen(t *testing.T) {
	for _, seed := range []uint64{3, 5, 15} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 7))
			s := randomSpec(r, 2, 4)
			if seed%3 == 2 {
				s = randomSpec(r, 3, 2)
			}
			cfg := servertest.Schema(t, "").Config()
			found, err := Run(t.Context(), cfg, s, Options{Limit: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			all, err := Run(t.Context(), cfg, s, Options{Limit: time.Hour, Impossible: Cancel})
			if err != nil {
				t.Fatal(err)
			}
			foundLines, orders := complete(found)
			allLines, _ := complete(all)
			if !slices.Equal(foundLines, allLines) {
				t.Errorf("found\n%s\nof all orders these end:\n%s", strings.Join(foundLines, "\n"), strings.Join(allLines, "\n"))
			}
			if len(orders) == len(all.Orders) || len(found.Orders) != len(orders) {
				t.Errorf("%d of %d orders can happen, and %d were begun", len(orders), len(all.Orders), len(found.Orders))
			}

			s.Permutations = orders
			var text, got bytes.Buffer
			if err := Write(&text, s); err != nil {
				t.Fatal(err)
			}
			if _, err := Run(t.Context(), cfg, s, Options{Output: &got, Limit: time.Hour, Impossible: Cancel}); err != nil {
				t.Fatal(err)
			}
			if want := theirs(t, "random", text.String()); got.String() != want {
				t.Errorf("%s\nours:\n%s\nisolationtester's:\n%s", &text, &got, want)
			}
		})
	}
}
