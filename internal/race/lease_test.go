package race

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/instance"
	"idemlab/internal/server/servertest"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

// A lease that outlasts the call hides what one that does not shows.
func TestLongLeaseHidesTheDoubleCharge(t *testing.T) {
	o := small(t, scenarios.LeaseTakeover)
	o.Lease = time.Minute
	r := run(t, o)
	if r.Counts.Captures != 6 || r.ExitCode != check.ExitInconclusive || !strings.Contains(r.Reason, "not shown: double_charge") || r.Settings.LeaseMS != 60_000 {
		t.Errorf("exit %d (%s): %+v, lease %v ms", r.ExitCode, r.Reason, r.Counts, r.Settings.LeaseMS)
	}
}

// While its worker waits for the acquirer, the heartbeat keeps a claim beyond the lease that it began with.
func TestHeartbeatOutlastsTheLease(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	s := scenarios.LeaseTakeoverHeartbeat
	schema, err := tables.Create(t.Context(), servertest.Server(t), small(t, s).DDL, s)
	if err != nil {
		t.Fatal(err)
	}
	defer schema.Drop(t.Context())
	inst, err := instance.Open(t.Context(), instance.Config{Conn: schema.Config(), Pool: 3, Isolation: pgx.ReadCommitted, Strategy: s, Lease: lease})
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	conn, err := pgx.ConnectConfig(t.Context(), schema.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())

	acq, it := acquirer.New(acquirer.Options{}), newIntent(1, 1, 0)
	gate := acq.Hold()
	first := make(chan instance.Record, 1)
	go func() { first <- inst.Handle(t.Context(), acq.For(it.req.Key), it.req) }()
	<-gate.Arrivals() // it has claimed, and waits for the acquirer
	until := func() (end time.Time) {
		if err := conn.QueryRow(t.Context(), `SELECT posse_ate FROM cobranca`).Scan(&end); err != nil {
			t.Fatal(err)
		}
		return end
	}
	begunWith := until()
	for time.Now().Before(begunWith) || until().Equal(begunWith) {
		time.Sleep(10 * time.Millisecond) // between looks at the clock and the row; the test's own limit ends it
	}
	if rec := inst.Handle(t.Context(), acq.For(it.req.Key), it.req); rec.Answer != scenarios.InProgress {
		t.Errorf("after the first lease a duplicate is told %s (%s)", rec.Answer, rec.Err)
	}
	gate.Open()
	if rec := <-first; rec.Answer != scenarios.Charged || acq.Counts()[it.req.Key].Captures != 1 {
		t.Errorf("the worker is told %s (%s), %d captures", rec.Answer, rec.Err, acq.Counts()[it.req.Key].Captures)
	}
}
