package explore_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/scenarios"
)

// A heartbeat that is not heard lets two charge; one that is needed by nobody does not. Both are told apart from leases nobody has.
func TestLeasesRunOutOrLast(t *testing.T) {
	for _, c := range []struct {
		s      scenarios.Strategy
		lease  time.Duration
		double bool
		bounds string
	}{
		{scenarios.LeaseTakeoverHeartbeat, 0, false, "time standing still"},
		{scenarios.LeaseTakeoverHeartbeat, time.Minute, false, "time standing still"},
		{scenarios.LeaseTakeoverHeartbeat, time.Microsecond, true, "every lease run out"},
		{scenarios.LeaseTakeover, 0, true, "time standing still"}, // its own has run out from the start
		{scenarios.LeaseTakeover, time.Minute, false, "time standing still"},
		{scenarios.LeaseTakeoverFenced, explore.RunOut, true, "every lease run out"},
		{scenarios.InsertFirst, time.Microsecond, false, ""},
	} {
		o := options(c.s)
		o.Lease = c.lease
		r := run(t, o)
		if got := slices.Contains(found(t, r), scenarios.DoubleCharge); got != c.double {
			t.Errorf("%s, a lease of %s: a double charge: %v", c.s.Name, c.lease, got)
		}
		b := r.Bounds()
		if !strings.Contains(b, c.bounds) || c.bounds == "" && (strings.Contains(b, "lease") || strings.Contains(b, "time")) {
			t.Errorf("%s, a lease of %s: bounds %s", c.s.Name, c.lease, b)
		}
	}
}

// A clock that only SQL looks at is one too, also where it is a function's, a view's or a policy's.
func TestBoundsSayThatTimeStandsStill(t *testing.T) {
	for ddl, want := range map[string]bool{
		"": false,
		`CREATE FUNCTION old(t timestamptz) RETURNS bool LANGUAGE sql AS 'SELECT t < now()';`:                                            true,
		`CREATE VIEW fresh AS SELECT * FROM cobranca WHERE criada_em > CURRENT_TIMESTAMP - interval '1 hour';`:                           true,
		`ALTER TABLE cobranca ENABLE ROW LEVEL SECURITY; CREATE POLICY fresh ON cobranca USING (criada_em > now() - interval '1 hour');`: true,
		`CREATE VIEW all_of_them AS SELECT * FROM cobranca;`:                                                                             false,
	} {
		o := options(scenarios.InsertFirst)
		o.Sessions = 1
		r, err := explore.Run(t.Context(), placeWith(t, o.Strategy, ddl), o)
		if b := r.Bounds(); err != nil || strings.Contains(b, "time standing still") != want {
			t.Errorf("%s: %s, %v", ddl, b, err)
		}
	}
	for sql, want := range map[string]bool{
		`/* t */ SELECT now() - interval '1 hour'`: true, `/* t */ SELECT CURRENT_TIMESTAMP`: true, `/* t */ SELECT clock_timestamp ( )`: true,
		`/* t */ SELECT 'now'::timestamptz`: true, `/* t */ SELECT timestamptz 'now'`: true, `/* t */ SELECT CAST('today' AS date)`: true,
		`/* t */ SELECT 'now', criada_em FROM cobranca`: false, `/* t */ SELECT 1 AS current_timestamps`: false,
	} {
		o := options(strategy("clock", func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
			rows, err := db.Query(ctx, sql)
			if err == nil {
				_, err = pgx.CollectRows(rows, func(pgx.CollectableRow) (int, error) { return 0, nil })
			}
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, err
		}))
		o.Sessions = 1
		if b := run(t, o).Bounds(); strings.Contains(b, "time standing still") != want {
			t.Errorf("%s: %s", sql, b)
		}
	}
}
