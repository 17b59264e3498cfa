package load

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

// fewest is how many intents must have been tried by two attempts at once, as it happened, for the run to say anything of what
// happens then.
const fewest = 10

// verdict compares what was found with what the strategy claims, and marks the anomalies that counted.
func verdict(run *results.Run, o Options, m *measurement) {
	never, shows := o.Strategy.Judged(o.hazard(), o.Isolation)
	// Nobody charges an order here a second time, legitimately: what would be refused then does not show.
	shows = slices.DeleteFunc(slices.Clone(shows), func(a scenarios.Anomaly) bool { return a == scenarios.MissingCharge })
	t := m.book.totals
	if t.cut > 0 { // what befell the attempts was more than a race: what holds in a race only is not claimed here
		careful, _ := o.Strategy.Judged(scenarios.LostReply, o.Isolation)
		never = slices.DeleteFunc(slices.Clone(never), func(a scenarios.Anomaly) bool { return a == scenarios.DoubleCharge && !slices.Contains(careful, a) })
	}
	e := check.Evidence{Doubt: doubt(*run, m)}
	for a := range m.found {
		e.Found = append(e.Found, a)
	}
	j := check.Judge(o.Expect, never, shows, e)
	run.Verdict, run.Expected, run.Reason, run.ExitCode = j.Verdict, j.Expected, j.Reason, j.ExitCode
	if t.givenUp > 0 {
		run.Reason = strings.TrimPrefix(fmt.Sprintf("%s; %d attempts were given up after %v: what they left half-done is not judged", run.Reason, t.givenUp, o.AttemptTimeout), "; ")
	}
	if t.stopped > 0 {
		run.Reason = strings.TrimPrefix(fmt.Sprintf("%s; %d attempts were ended with the run: what they left half-done is not judged", run.Reason, t.stopped), "; ")
	}
	for i := range run.Anomalies {
		run.Anomalies[i].Judged = j.Judged(scenarios.Anomaly(run.Anomalies[i].Kind))
	}
}

// doubt says why finding nothing would prove nothing.
func doubt(run results.Run, m *measurement) string {
	t := m.book.totals
	switch {
	case t.attempts == 0:
		return "no attempt came to its end"
	case run.Control == nil:
		return "no control was run: nothing shows that a violation would have been seen"
	case check.ControlDoubt(run.Control) != "":
		return check.ControlDoubt(run.Control)
	case t.repeated == 0:
		return "no key was used twice, so nothing could be charged twice: say --repeat-share"
	case t.overlapped < m.least2:
		return fmt.Sprintf("the attempts did not overlap: only %d intents had two under way at once, and %d are the least", t.overlapped, m.least2)
	case t.charged == 0:
		return scenarios.Money.Words().NoneApproved()
	case !t.rowsRead:
		return "the rows could not be read"
	}
	return ""
}

// describe starts the document of a run: what was asked for, and of whom.
func describe(srv *server.Server, o Options) results.Run {
	info := srv.Info()
	return results.Run{
		Engine: "load", Scenario: o.Scenario.Name, Strategy: o.Strategy.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Seed: o.Seed,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(o.Isolation),
			Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool:      results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Anomalies: []results.Anomaly{},
	}
}

// settings is how the run was asked for.
func (o Options) settings() results.LoadSettings {
	s := results.LoadSettings{
		Loop: "closed", Clients: o.Clients, DurationMS: results.MS(o.Duration), WarmupMS: results.MS(o.Warmup),
		RepeatShare: o.RepeatShare, HotShare: o.HotShare, StallMS: results.MS(o.Stall),
		AcquirerSettings: &results.AcquirerSettings{
			AcquirerLatencyMS: results.MS(o.Acquirer.Latency.Mean()), AcquirerLatency: o.Acquirer.Latency.String(),
			DeclineShare: o.Acquirer.DeclineShare, AcquirerDedup: o.Acquirer.Dedup,
		},
		LeaseMS: results.MS(o.Lease), Instances: o.Instances, Pool: o.Pool,
	}
	if o.HotShare > 0 {
		s.HotKeys = o.HotKeys
	}
	if o.open() {
		s.Loop, s.Rate, s.Arrivals, s.MaxInFlight = "open", o.Rate, "poisson", o.MaxInFlight
		if o.Constant {
			s.Arrivals = "constant"
		}
	}
	return s
}
