package explore_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/scenarios"
)

// reality runs a strategy n times without the explorer, and looks whether anything happens that the explorer did not foresee.
func reality(t *testing.T, s scenarios.Strategy, iso pgx.TxIsoLevel, n int) {
	t.Helper()
	o := explore.Defaults(s)
	o.Isolation, o.Prepare, o.OwnCluster = iso, makeOrder, true
	config := place(t, s)
	r, err := explore.Run(t.Context(), config, o)
	if err != nil || !r.Complete {
		t.Fatalf("%v, %s, %s", err, r.Coverage(), r.Inconclusive)
	}
	foreseen, seen := r.Keys(), map[string]int{}
	pairs := []struct{ latency, jitter time.Duration }{
		{0, 0}, {0, time.Millisecond}, {time.Millisecond, 0}, {time.Millisecond, 3 * time.Millisecond}, {5 * time.Millisecond, 0}, {5 * time.Millisecond, 10 * time.Millisecond},
	}
	for _, p := range pairs {
		outcomes, err := explore.Free(t.Context(), config, o, n/len(pairs), p.latency, p.jitter)
		if err != nil {
			t.Fatal(err)
		}
		for key, k := range outcomes {
			seen[key] += k
			if !foreseen[key] {
				t.Errorf("acquirer %s, jitter %s: %d times unforeseen: %s", p.latency, p.jitter, k, key)
			}
		}
	}
	t.Logf("%d free runs: %d of %d foreseen outcomes seen", n, len(seen), len(foreseen))
}

func TestRealityIsWithinTheModel(t *testing.T) {
	for _, s := range articles() {
		t.Run(s.Name, func(t *testing.T) { reality(t, s, pgx.ReadCommitted, 36) })
	}
	t.Run("insert-first-batched", func(t *testing.T) { reality(t, scenarios.InsertFirstBatched, "", 36) })
	for _, name := range []string{"insert-first", "insert-first-batched", "tx-ser"} {
		t.Run(name+"/serializable", func(t *testing.T) { reality(t, named(name), pgx.Serializable, 36) })
	}
	// In each scenario what is known of an intent is something else, and clients may have requests of their own.
	for _, c := range scenarios.Scenarios() {
		t.Run(c.Name, func(t *testing.T) { reality(t, c.Control, "", 36) })
	}
	t.Run("get-or-create", func(t *testing.T) { reality(t, named("get-or-create"), "", 36) })
}
