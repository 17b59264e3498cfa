package cmd

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/explore"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// remembers keeps its keys in a map of the instance, looks and writes down in two steps, and waits for company in between. The search
// lets one session go at a time and sees no map; a race has both look before either writes. One of the two may then lose its patience,
// after it was charged.
func remembers(meet time.Duration, readsClock, losesPatience bool) scenarios.Strategy {
	s := scenarios.CheckThenAct
	s.Name = "remembers"
	s.Never, s.Shows = []scenarios.Claim{{Under: scenarios.Race, Anomaly: scenarios.DoubleCharge}}, nil
	s.New = func(env scenarios.Env) scenarios.Handler {
		var mu sync.Mutex
		known, looking := map[string]bool{}, make(chan struct{})
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if readsClock {
				env.Now()
			}
			if _, err := db.Exec(ctx, `/* check */ SELECT 1`); err != nil {
				return scenarios.Response{}, err
			}
			mu.Lock()
			there := known[req.Key]
			mu.Unlock()
			if there {
				return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, nil
			}
			var late error
			select {
			case looking <- struct{}{}:
			case <-looking:
				if losesPatience {
					late = context.DeadlineExceeded
				}
			case <-time.After(meet): // nobody else is about to look, and in the search nobody ever is
			}
			mu.Lock()
			known[req.Key] = true
			mu.Unlock()
			if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
				return scenarios.Response{}, err
			}
			return scenarios.Response{Answer: scenarios.Charged, HTTP: 201, Body: "{}"}, late
		}
	}
	return s
}

// A search that decides nothing has said why, and that stands: what the race shows may be what it speaks of.
func TestARaceLeavesADoubtAsItIs(t *testing.T) {
	ddl, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	o := explore.Defaults(scenarios.InsertFirst)
	o.Isolation = pgx.ReadCommitted
	x := explore.Case{Scenario: scenarios.ChargeOnce, Options: o, DDL: string(ddl) + `
		CREATE FUNCTION f() RETURNS void LANGUAGE plpgsql AS 'BEGIN SET lock_timeout = 1000; END';`, Expect: check.ExpectClaim}
	run, err := x.Run(t.Context(), servertest.Server(t))
	if err != nil || run.Verdict != results.Inconclusive || run.Explore.Coverage != "exhaustive" {
		t.Fatalf("%s, %s (%s), %v", run.Verdict, run.Explore.Coverage, run.Reason, err)
	}
	before := run.Reason
	if x.Contradicted(&run, 3, 10); run.Reason != before || run.Explore.Coverage != "exhaustive" {
		t.Errorf("%s, %s (%s), before: %s", run.Verdict, run.Explore.Coverage, run.Reason, before)
	}
}

// What a race has shown can happen. A search that says it cannot proves nothing, whatever is at fault; one that the race bears out does, and
// so does one beside a race in which attempts were given up, as none was in the search.
func TestARaceContradictsTheSearch(t *testing.T) {
	ddl, err := os.ReadFile("../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	const meet = 300 * time.Millisecond
	for name, c := range map[string]struct {
		strategy  scenarios.Strategy
		instances int
		verdict   results.Verdict
		exit      int
		why       string
		twice     bool // the race charges twice
	}{
		"safe":                    {scenarios.InsertFirst, 1, results.Held, 0, "", false},
		"wrong, and seen to be":   {scenarios.CheckThenAct, 1, results.Violated, 0, "", true},
		"memory unseen":           {remembers(meet, false, false), 1, results.Inconclusive, 4, "a fault of the search, unless attempts share", true},
		"a clock":                 {remembers(meet, true, false), 1, results.Inconclusive, 4, "asks what time it is", true},
		"some were given up":      {remembers(meet, false, true), 1, results.Held, 0, "", true},
		"the race is another one": {scenarios.InsertFirst, 2, results.Held, 0, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			o := explore.Defaults(c.strategy)
			o.Isolation, o.Instances = pgx.ReadCommitted, c.instances
			x := explore.Case{Scenario: scenarios.ChargeOnce, Options: o, DDL: string(ddl), Expect: check.ExpectClaim}
			run, err := x.Run(t.Context(), servertest.Server(t))
			if err != nil {
				t.Fatal(err)
			}
			if c.exit == 4 && (run.Verdict != results.Held || run.Explore.Coverage != "exhaustive") {
				t.Fatalf("the search alone: %s, %s (%s)", run.Verdict, run.Explore.Coverage, run.Reason)
			}
			if err := likely(t.Context(), servertest.Server(t), x, 5, &run); err != nil {
				t.Fatal(err)
			}
			if run.Verdict != c.verdict || run.ExitCode != c.exit || !strings.Contains(run.Reason, c.why) {
				t.Errorf("%s, exit %d (%s); raced: %+v", run.Verdict, run.ExitCode, run.Reason, run.Explore.Likely)
			}
			if doubted := strings.Contains(run.Reason, "what the search says cannot happen"); doubted != (c.exit == 4) || doubted == (run.Explore.Coverage == "exhaustive") {
				t.Errorf("reason %q, coverage %s", run.Reason, run.Explore.Coverage)
			}
			if n := *run.Explore.Likely.DoubleCharged; (n > 0) != c.twice {
				t.Errorf("the race charged %d twice", n)
			}
		})
	}
}
