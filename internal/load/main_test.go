package load

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// childArg makes the test binary answer as an instance, as the tool's hidden command does.
const childArg = "load-instance"

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(args []string) (int, bool) {
		if len(args) != 1 || args[0] != childArg {
			return 0, false
		}
		if err := ServeInstance(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, true
	}))
}

// small is a load that takes a moment, with enough repeats to meet each other by the acquirer's time alone.
func small(t testing.TB, s scenarios.Strategy) Options {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Options{
		Scenario: s.Scenario(), Strategy: s,
		Clients: 8, Duration: 600 * time.Millisecond, Warmup: 200 * time.Millisecond, RepeatShare: 0.3, HotShare: 0.3, HotKeys: 4,
		Instances: 1, Pool: 8, Isolation: pgx.ReadCommitted,
		Acquirer: acquirer.Options{Latency: acquirer.Fixed(5 * time.Millisecond)}, AttemptTimeout: time.Minute,
		Seed: 1, Expect: check.ExpectClaim, DDL: string(ddl), Child: []string{self, childArg},
		Control: &results.Control{Ran: true, Strategy: "by hand", ForcedCharge: &results.ForcedCharge{Captures: 2, DoubleCharged: true}},
	}
}

func run(t *testing.T, o Options) results.Run {
	t.Helper()
	r, err := Run(t.Context(), servertest.Server(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
