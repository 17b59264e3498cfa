package consume

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// hazard is the worst that befell the attempts. Two consumers at work at one charge, because a window ran out or because there were
// two messages, are a race across processes: nothing that the acquirer said was lost in it.
func (ev *evidence) hazard() scenarios.Hazard {
	switch {
	case len(ev.book.killed) > 0:
		return scenarios.Crash
	case ev.book.givenUp > 0:
		return scenarios.LostReply
	}
	return scenarios.Instances
}

// claims is what the strategy claims, as a consumer: one that meets an orphan clears it away, so that what a strategy shows by
// leaving one must not be found here.
func claims(s scenarios.Strategy, o Options, h scenarios.Hazard) (never, shows []scenarios.Anomaly) {
	never, shows = s.Judged(h, o.Isolation)
	if i := slices.Index(shows, scenarios.Orphan); i >= 0 {
		shows = slices.Delete(slices.Clone(shows), i, i+1)
		never = append(slices.Clone(never), scenarios.Orphan)
	}
	return never, shows
}

// verdict compares what was found with what the strategy claims, and marks the anomalies that counted.
func verdict(run *results.Run, o Options, ev *evidence) {
	never, shows := claims(o.Strategy, o, ev.hazard())
	e := check.Evidence{Doubt: ev.doubt(*run)}
	for _, a := range run.Anomalies {
		e.Found = append(e.Found, scenarios.Anomaly(a.Kind))
	}
	if n := run.Consume.DeadLettered; n > 0 && slices.Contains(e.Found, scenarios.Orphan) {
		// Nobody comes back to a message that was set aside: that its orphan was not cleared away is no fault of the strategy's.
		never = slices.DeleteFunc(slices.Clone(never), func(a scenarios.Anomaly) bool {
			return a == scenarios.Orphan || a == scenarios.ChargedWithoutRecord
		})
		e.Doubt = fmt.Sprintf("%d of the messages were set aside before anybody could clear up after a killed consumer: raise --max-deliveries", n)
	}
	j := check.Judge(o.Expect, never, shows, e)
	run.Verdict, run.Expected, run.Reason, run.ExitCode = j.Verdict, j.Expected, j.Reason, j.ExitCode
	if n := ev.book.givenUp; n > 0 {
		run.Reason = strings.TrimPrefix(fmt.Sprintf("%s; %d attempts were given up after %v", run.Reason, n, o.AttemptTimeout), "; ")
	}
	for i := range run.Anomalies {
		run.Anomalies[i].Judged = j.Judged(scenarios.Anomaly(run.Anomalies[i].Kind))
	}
}

// doubt says why finding nothing would prove nothing.
func (ev *evidence) doubt(run results.Run) string {
	b, c := ev.book, run.Consume
	switch {
	case run.Counts.Intents == 0:
		return "no consumer began on a message"
	case run.Control == nil:
		return "no control was run: nothing shows that a violation would have been seen"
	case check.ControlDoubt(run.Control) != "":
		return check.ControlDoubt(run.Control)
	case c.Unfinished > 0 || c.Messages+b.dropped < ev.options.Messages():
		return fmt.Sprintf("%d of %d messages came to their end", c.Acknowledged+c.DeadLettered, ev.options.Messages()-b.dropped)
	case *run.Counts.IntentsCharged == 0:
		return scenarios.Money.Words().NoneApproved()
	case c.Kills.Made < c.Kills.Planned:
		return fmt.Sprintf("only %d of %d consumers could be killed", c.Kills.Made, c.Kills.Planned)
	case c.Kills.Made > 0 && c.Kills.AfterCapture == 0:
		return "no consumer was killed between capture and record: nothing was left half-way"
	case c.Repeated == 0:
		return "no charge came to a consumer twice, so nothing could be charged twice: say --kills or --double-publish, or a --window shorter than --acquirer-latency"
	case c.Kills.Made == 0 && c.Overlapped == 0:
		return "no two consumers were at work at one charge at once"
	case run.Counts.Rows == nil:
		return "the rows could not be read"
	}
	return ""
}

// describe starts the document of a run: what was asked for, and of whom.
func describe(srv *server.Server, o Options) results.Run {
	info := srv.Info()
	return results.Run{
		Engine: "consume", Scenario: o.Scenario.Name, Strategy: o.Strategy.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Seed: o.Seed,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(o.Isolation),
			Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool:      results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Control:   o.Control,
		Anomalies: []results.Anomaly{},
	}
}

// settings is how the run was asked for.
func (o Options) settings(version string) results.ConsumeSettings {
	s := results.ConsumeSettings{
		Broker: o.Broker.Name, BrokerVersion: version, KeyFrom: string(o.KeyFrom), WindowMS: results.MS(o.Broker.Window),
		Charges: o.Charges, Consumers: o.Consumers, Prefetch: o.Prefetch,
		DoublePublishShare: o.Second.Share, DedupWindowMS: results.MS(o.Broker.Dedup),
		MaxDeliveries: o.MaxDeliveries, RetryAfterMS: results.MS(o.RetryAfter), OrphanAfterMS: results.MS(o.OrphanAfter),
		AttemptTimeoutMS: results.MS(o.AttemptTimeout), LeaseMS: results.MS(o.Lease),
		AcquirerSettings: &results.AcquirerSettings{
			AcquirerLatencyMS: results.MS(o.Acquirer.Latency.Mean()), AcquirerLatency: o.Acquirer.Latency.String(),
			DeclineShare: o.Acquirer.DeclineShare, AcquirerDedup: o.Acquirer.Dedup,
		},
	}
	if o.Second.Share > 0 {
		s.DoublePublishID, s.DoublePublishAfterMS = "new", results.MS(o.Second.After)
		if o.Second.Same {
			s.DoublePublishID = "same"
		}
	}
	return s
}
