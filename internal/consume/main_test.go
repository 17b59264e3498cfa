package consume

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

// childArg makes the test binary answer as a consumer, as the tool's hidden command does.
const childArg = "consume-instance"

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(args []string) (int, bool) {
		if len(args) != 1 || args[0] != childArg {
			return 0, false
		}
		if err := ServeConsumer(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, true
	}))
}

// small is a run that takes a moment and kills nobody.
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
		Broker: Broker{Name: Postgres, Window: time.Second}, KeyFrom: Payload,
		Charges: 12, Prefetch: 2, Consumers: 2, MaxDeliveries: 1000, RetryAfter: 100 * time.Millisecond,
		OrphanAfter: 3 * time.Second, AttemptTimeout: 2 * time.Second, Isolation: pgx.ReadCommitted,
		Acquirer: acquirer.Options{Latency: acquirer.Fixed(10 * time.Millisecond)},
		Seed:     1, Expect: check.ExpectClaim, DDL: string(ddl), Child: []string{self, childArg},
		Control: &results.Control{Ran: true, Strategy: "by hand", ForcedCharge: &results.ForcedCharge{Captures: 2, DoubleCharged: true}},
	}
}

// patient is for runs in which no attempt may be given up because the machine is busy.
func patient(o Options) Options {
	o.AttemptTimeout, o.OrphanAfter = time.Minute, 2*time.Minute
	return o
}

func run(t *testing.T, o Options) results.Run {
	t.Helper()
	r, err := Run(t.Context(), servertest.Server(t), o)
	if err != nil {
		t.Fatal(err)
	}
	agrees(t, r)
	return r
}

// agrees says that broker, consumers, ledger and rows tell one story.
func agrees(t *testing.T, r results.Run) {
	t.Helper()
	c, n := r.Consume, r.Counts
	answers := c.AttemptsDied
	for _, k := range r.Answers {
		answers += k
	}
	if answers != n.Attempts {
		t.Errorf("%s: %d answers and deaths to %d attempts", r.Strategy, answers, n.Attempts)
	}
	if c.Acknowledged+c.DeadLettered != c.Messages || c.Unfinished != 0 {
		t.Errorf("%s: %d acknowledged and %d dead-lettered of %d messages, %d unfinished", r.Strategy, c.Acknowledged, c.DeadLettered, c.Messages, c.Unfinished)
	}
	if k := c.Kills; k.BeforeClaim+k.AfterCapture+k.BeforeAck != k.Made {
		t.Errorf("%s: %+v", r.Strategy, k)
	}
	if c.Deliveries-c.Redeliveries > c.Messages || n.Captures-n.DuplicateCaptures != *n.IntentsCharged {
		t.Errorf("%s: %+v, %+v", r.Strategy, c, n.AcquirerCounts)
	}
}

func expect(t *testing.T, r results.Run, v results.Verdict, exit int) {
	t.Helper()
	if r.Verdict != v || r.ExitCode != exit || r.Status != results.Complete {
		t.Errorf("%s: %s, exit %d (%s), %s; want %s, exit %d", r.Strategy, r.Verdict, r.ExitCode, r.Reason, r.Status, v, exit)
	}
}
