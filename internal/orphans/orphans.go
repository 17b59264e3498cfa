package orphans

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/internal/attempt"
	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// Run plays it for one strategy. The result is worth reading on an error too.
func Run(ctx context.Context, srv *server.Server, o Options) (run results.Run, err error) {
	o.Acquirer.Dedup = o.Acquirer.Dedup || o.Strategy.WantsDedup
	run = o.describe(srv)
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()
	d, err := o.run(ctx, srv, run.Recovery)
	if d != nil {
		never, shows := o.claims()
		d.lab.Judge(&run, d.end, o.Expect, never, shows, d.doubt())
	}
	return attempt.Ended(ctx, run, err)
}

// acquirerOf is the acquirer with its time taken out: it is compared, not waited for.
func acquirerOf(o Options) acquirer.Options {
	a := o.Acquirer
	a.Latency = acquirer.Fixed(0)
	return a
}

// claims is what must never be found and what must. A strategy that promises not to charge twice over a crash is held to all that is
// about money, because what it leaves half-way is what the reconciler is there for; one that does not promise it is to be caught.
func (o Options) claims() (never, shows []scenarios.Anomaly) {
	promised, _ := o.Strategy.Judged(scenarios.Crash, o.Isolation)
	money := []scenarios.Anomaly{scenarios.DoubleCharge, scenarios.ChargedWithoutRecord, scenarios.AnsweredWithoutCharge, scenarios.DivergentAnswers}
	switch {
	case o.Acquirer.Dedup && !o.Strategy.WantsDedup: // what strategies show of themselves, they show without it
		return money[:1], nil
	case !slices.Contains(promised, scenarios.DoubleCharge):
		return nil, money[:1]
	case o.Reconciler == Eager && o.outlasts() && slices.Contains(o.Befalls, "slow-request") && !o.Acquirer.Dedup:
		return nil, money[:1]
	case o.Reconciler == None: // what is left half-way stays so
		return promised, nil
	case o.Deadline > 0:
		return append(money, scenarios.Orphan), nil
	}
	return money, nil
}

// doubt says why finding nothing would prove nothing.
func (d *demo) doubt() string {
	if doubt := attempt.Doubt(d.o.Control, d.end); doubt != "" {
		return doubt
	}
	if d.again > 0 {
		return fmt.Sprintf("reconciling once more changed %d rows, and there was nothing left to do", d.again)
	}
	return ""
}

// describe starts the document of a run: what was asked for, and of whom.
func (o Options) describe(srv *server.Server) results.Run {
	info := srv.Info()
	s := results.RecoverySettings{
		Reconciler: string(o.Reconciler), LeaseMS: results.MS(o.Lease), DeadlineMS: results.MS(o.Deadline),
		Demonstration: &results.Demonstration{
			IntentsEach: o.Each, CallsOutlastLease: o.outlasts(),
			AcquirerSettings: results.AcquirerSettings{
				AcquirerLatencyMS: results.MS(o.Acquirer.Latency.Mean()), AcquirerLatency: o.Acquirer.Latency.String(),
				DeclineShare: o.Acquirer.DeclineShare, AcquirerDedup: o.Acquirer.Dedup,
			},
		},
	}
	for _, b := range o.Befalls {
		s.Befalls = append(s.Befalls, string(b))
	}
	return results.Run{
		Engine: "recover", Scenario: o.Strategy.Scenario().Name, Strategy: o.Strategy.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Seed: o.Seed, Control: o.Control,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(o.Isolation),
			Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool:      results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Recovery:  &results.Recovery{Settings: s, Passes: []results.RecoveryPass{}},
		Anomalies: []results.Anomaly{},
	}
}
