package expiry

import (
	"context"
	"runtime"
	"time"

	"idemlab/internal/attempt"
	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/results"
)

// Run plays it for one strategy. The result is worth reading on an error too.
func Run(ctx context.Context, srv *server.Server, o Options) (run results.Run, err error) {
	o.Acquirer.Dedup = o.Acquirer.Dedup || o.Strategy.WantsDedup
	run = o.describe(srv)
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()
	d, err := o.run(ctx, srv, run.Expiry)
	if d != nil {
		never, shows := o.claims()
		d.lab.Judge(&run, d.end, o.Expect, never, shows, d.doubt())
	}
	return attempt.Ended(ctx, run, err)
}

// doubt says why finding nothing would prove nothing.
func (d *demo) doubt() string {
	if doubt := attempt.Doubt(d.o.Control, d.end); doubt != "" {
		return doubt
	}
	if d.o.expired() && d.result.Deleted == 0 {
		return "nothing was purged, so no key had its time"
	}
	return ""
}

// describe starts the document of a run: what was asked for, and of whom.
func (o Options) describe(srv *server.Server) results.Run {
	info := srv.Info()
	return results.Run{
		Engine: "expiry", Scenario: o.Strategy.Scenario().Name, Strategy: o.Strategy.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Seed: o.Seed, Control: o.Control,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(o.Isolation),
			Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool: results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Expiry: &results.Expiry{Stages: []results.Stage{}, Groups: []results.ExpiryGroup{}, Settings: results.ExpirySettings{
			KeyLifetimeS: o.Lifetime.Seconds(), RetryAfterS: o.RetryAfter.Seconds(), Purge: string(o.Purge), Batch: o.Batch,
			Answered: o.Answered, Unfinished: o.Unfinished, Fresh: o.Fresh, DeclineShare: o.Acquirer.DeclineShare, Dedup: o.Acquirer.Dedup,
		}},
		Anomalies: []results.Anomaly{},
	}
}
