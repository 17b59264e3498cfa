package storage

import (
	"fmt"
	"runtime"

	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// judge holds the layout to one key, one row. That a table partitioned by day breaks it is what is expected of it.
func judge(run *results.Run, l Layout) {
	expect := check.ExpectHeld
	if l.losesKeys() {
		expect = check.ExpectViolated
	}
	same, doubt, violated := run.Storage.SameKey, "", false
	switch {
	case same == nil:
		doubt = "no key came again"
		run.Reason = doubt
	case same.RowsSameDay != 1:
		violated, run.Reason = true, fmt.Sprintf("one key, %d rows, on one day", same.RowsSameDay)
	case same.RowsNextDay != 1:
		violated, run.Reason = true, fmt.Sprintf("one key, %d rows: it was accepted on two days", same.RowsNextDay)
	default:
		run.Reason = "one key, one row"
	}
	run.Verdict, run.Expected, run.ExitCode = check.Plain(expect, violated, doubt)
}

// describe starts the document of a run: what was asked for, and of whom.
func describe(srv *server.Server, o Options) results.Run {
	info := srv.Info()
	return results.Run{
		Engine: "storage", Scenario: scenarios.ChargeOnce.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Seed: o.Seed,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: isolation,
			Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool: results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Storage: &results.Storage{
			Settings: results.StorageSettings{
				Keys: o.Keys, Rate: o.Rate, LifetimeMS: results.MS(o.Lifetime), Batch: o.Batch, Sample: o.Sample,
			},
			Layout: o.Layout.Name, KeyType: o.Layout.Type, UUIDVersion: o.Layout.Version, PartitionedBy: o.Layout.PartitionedBy,
		},
		Anomalies: []results.Anomaly{},
	}
}
