package load

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

func street1(t *testing.T, s scenarios.Strategy) BystanderOptions {
	o := small(t, s)
	o.Pool, o.Clients, o.Duration = 6, 4, 400*time.Millisecond
	return BystanderOptions{Options: o, Unrelated: 5 * time.Millisecond, Hot: []int{6}, Latencies: []time.Duration{5 * time.Millisecond, 400 * time.Millisecond}}
}

func bystand(t *testing.T, o BystanderOptions) results.Run {
	t.Helper()
	r, err := Bystander(t.Context(), servertest.Server(t), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// On one server: attempts that hold the whole pool while the acquirer takes its time leave the others next to nothing; attempts that
// have committed their claim leave them nearly all. Both charge once.
func TestBystanderSuffersFromOpenTransactionsOnly(t *testing.T) {
	open, committed := bystand(t, street1(t, scenarios.InsertFirstOpenTx)), bystand(t, street1(t, scenarios.InsertFirst))
	slow := open.Bystander.Cells[1]
	if k := open.Bystander.Knee; k == nil || *slow.Share > 0.5 || slow.MaxWaitingForPool == 0 || slow.MaxLockWaiters != 5 || slow.Connections.IdleInTxSeconds == 0 {
		t.Errorf("knee %+v, %+v", k, slow)
	}
	quiet := committed.Bystander.Cells[1]
	if committed.Bystander.Knee != nil && committed.Bystander.Knee.Cell == 1 || *quiet.Share < 2**slow.Share {
		t.Errorf("%v of the rate with the claim committed, %v with the transaction open", *quiet.Share, *slow.Share)
	}
	if *quiet.Connections.SecondsPerCapture > *slow.Connections.SecondsPerCapture/2 {
		t.Errorf("%v connection-seconds a capture with the claim committed, %v with the transaction open", *quiet.Connections.SecondsPerCapture, *slow.Connections.SecondsPerCapture)
	}
	if *slow.Disturbed.Ping.MaxMS < 200 || slow.Undisturbed.Ping.N == 0 {
		t.Errorf("a ping took %v ms at the most", *slow.Disturbed.Ping.MaxMS)
	}
	for _, r := range []results.Run{open, committed} {
		if r.Verdict != results.Held || r.ExitCode != 0 || r.Status != results.Complete {
			t.Errorf("%s: %s (%s)", r.Strategy, r.Verdict, r.Reason)
		}
		agrees(t, bare(r))
	}
}

// bare is a run with the repeats that agrees wants.
func bare(r results.Run) results.Run {
	r.Load = &results.Load{Repeats: r.Counts.Attempts - r.Counts.Intents}
	return r
}

// A hot key under a strategy that checks and then acts is charged again, and the ledger says so.
func TestBystanderIsJudgedByTheLedger(t *testing.T) {
	if r := bystand(t, street1(t, scenarios.CheckThenAct)); r.Verdict != results.Violated || r.Counts.DuplicateCaptures == 0 || r.ExitCode != 0 {
		t.Errorf("%s (%s), %+v", r.Verdict, r.Reason, r.Counts)
	}
	if r := bystand(t, street1(t, scenarios.ForUpdateOrder)); r.Verdict != results.Held { // its orders are made beforehand
		t.Errorf("%s (%s), %v", r.Verdict, r.Reason, r.SQLStates)
	}
}

func TestInterruptedBystanderReports(t *testing.T) {
	srv := servertest.Server(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	o := street1(t, scenarios.InsertFirstOpenTx)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o.Cell = func(int, int, results.BystanderCell) { cancel() }
	r, err := Bystander(ctx, srv, o)
	if err != nil || r.Status != results.Aborted || len(r.Bystander.Cells) != 1 || r.Verdict != results.Inconclusive || r.Reason != "interrupted" {
		t.Errorf("%v, %s, %d cells, %s (%s)", err, r.Status, len(r.Bystander.Cells), r.Verdict, r.Reason)
	}
	noSchemas(t, srv.DSN())
}

// The knee is where it gives way, from which cell to which.
func TestKnee(t *testing.T) {
	cell := func(share float64) results.BystanderCell { return results.BystanderCell{Hot: 20, Share: &share} }
	for _, c := range []struct {
		shares []float64
		at     int
	}{{nil, -1}, {[]float64{1, 0.5}, -1}, {[]float64{0.4, 0.1}, 0}, {[]float64{1, 0.9, 0.49, 0.1}, 2}} {
		b := &results.Bystander{Settings: results.BystanderSettings{Pool: 20}}
		for _, s := range c.shares {
			b.Cells = append(b.Cells, cell(s))
		}
		if k := knee(b); k == nil != (c.at < 0) || k != nil && k.Cell != c.at {
			t.Errorf("%v: %+v", c.shares, k)
		}
	}
}
