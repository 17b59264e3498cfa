package explore_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/scenarios"
)

// Strategies whose authors did not know the explorer: each can be put into an order, and none is known here by name.
func TestEveryStrategyCanBeExplored(t *testing.T) {
	for _, s := range scenarios.All() {
		t.Run(s.Name, func(t *testing.T) {
			o := options(s)
			o.MaxSchedules = 40
			r := run(t, o)
			if r.Inconclusive != "" || r.Divergences > 0 || r.Schedules == 0 {
				t.Errorf("%d schedules, %d divergences, %s", r.Schedules, r.Divergences, r.Inconclusive)
			}
			t.Logf("%d schedules (%s), %d outcomes, %s", r.Schedules, r.Coverage(), len(r.Keys()), r.Duration)
		})
	}
}

// What a schedule costs does not grow with those before it: each leaves its rows, and none is to read them all.
func TestALongSearchDoesNotSlowDown(t *testing.T) {
	for _, scenario := range scenarios.Scenarios() {
		t.Run(scenario.Name, func(t *testing.T) {
			s := scenario.Strategies()[0]
			o := options(s)
			o.Search, o.Crashes, o.MaxSchedules = explore.Full, 1, 150
			config := place(t, s)
			r, err := explore.Run(t.Context(), config, o)
			if err != nil || r.Schedules < 20 {
				t.Fatalf("%d schedules, %v", r.Schedules, err)
			}
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			var rows int // in tables that were read whole
			if err := conn.QueryRow(t.Context(), `SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = current_schema()`).Scan(&rows); err != nil {
				t.Fatal(err)
			}
			if rows > r.Schedules {
				t.Errorf("%d schedules, and %d rows read with all the others", r.Schedules, rows)
			}
		})
	}
}
