package race

import (
	"fmt"
	"runtime"
	"strings"

	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// verdict compares what was found with what the strategy claims, and marks the anomalies that counted.
func verdict(run *results.Run, o Options, never, shows []scenarios.Anomaly, ev *evidence) {
	e := check.Evidence{Doubt: doubt(*run, o)}
	for _, a := range run.Anomalies {
		e.Found = append(e.Found, scenarios.Anomaly(a.Kind))
	}
	j := check.Judge(o.Expect, never, shows, e)
	run.Verdict, run.Expected, run.Reason, run.ExitCode = j.Verdict, j.Expected, j.Reason, j.ExitCode
	if n := ev.givenUp(); n > 0 {
		run.Reason = strings.TrimPrefix(fmt.Sprintf("%s; %d attempts were given up after %v, so it is judged as lost replies", run.Reason, n, o.AttemptTimeout), "; ")
	}
	for i := range run.Anomalies {
		run.Anomalies[i].Judged = j.Judged(scenarios.Anomaly(run.Anomalies[i].Kind))
	}
	markRounds(run, ev)
}

// markRounds counts, in each round, the intents in which an anomaly was found that counts.
func markRounds(run *results.Run, ev *evidence) {
	violated := map[string]bool{}
	for _, a := range run.Anomalies {
		violated[a.Intent] = violated[a.Intent] || a.Judged
	}
	for i := range run.Rounds {
		run.Rounds[i].IntentsViolated = new(int)
	}
	for _, out := range ev.intents {
		if violated[out.req.Key] {
			*run.Rounds[out.round].IntentsViolated++
		}
	}
}

// Met says whether in half of the intents and more two attempts were in flight at once. Fewer is as good as no race: the rest would be
// an anecdote. A run that counted nothing has not met.
func Met(run results.Run) bool {
	return run.Counts != nil && run.Counts.Intents > 0 && run.Overlap != nil && 2*run.Overlap.IntentsOverlapped >= run.Counts.Intents
}

// doubt says why finding nothing would prove nothing.
func doubt(run results.Run, o Options) string {
	switch planned := o.Intents * o.Rounds; {
	case run.Counts == nil || run.Counts.Intents == 0:
		return "no intent came to its end"
	case run.Control == nil:
		return "no control was run: nothing shows that a violation would have been seen"
	case check.ControlDoubt(run.Control) != "":
		return check.ControlDoubt(run.Control)
	case run.Counts.Intents < planned:
		return fmt.Sprintf("stopped after %d of %d intents", run.Counts.Intents, planned)
	case o.Attempts < o.Scenario.Least() && o.Attempts > 1:
		return fmt.Sprintf("%d attempts an intent: the scenario %s takes %d, so that two are of one kind", o.Attempts, o.Scenario.Name, o.Scenario.Least())
	case !Met(run):
		return fmt.Sprintf("the attempts did not overlap: in %d of %d intents two were in flight at once",
			run.Overlap.IntentsOverlapped, run.Counts.Intents)
	case run.Counts.IntentsCharged != nil && *run.Counts.IntentsCharged == 0:
		return o.Effect.Words().NoneApproved()
	case run.Counts.AcquirerCounts == nil && !succeeded(run):
		return "no attempt was told that it had succeeded, so nothing could go wrong"
	case run.Counts.AcquirerCounts != nil && run.Counts.Rows == nil, o.Scenario.Measure != nil && run.Counts.Measures == nil:
		return "the rows could not be read"
	}
	return ""
}

// succeeded says whether any attempt was told so.
func succeeded(run results.Run) bool {
	for a, n := range run.Answers {
		if n > 0 && scenarios.Answer(a).Succeeded() {
			return true
		}
	}
	return false
}

// describe starts the document of a run: what was asked for, and of whom.
func describe(srv *server.Server, o Options) results.Run {
	info := srv.Info()
	run := results.Run{
		Engine: "race", Scenario: o.Scenario.Name, Strategy: o.Strategy.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Seed: o.Seed,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(o.Isolation),
			Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool: results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Settings: &results.Settings{
			AttemptsPerIntent: o.Attempts, Intents: o.Intents, Rounds: o.Rounds,
			LeaseMS: results.MS(o.Lease), Instances: o.Instances, Pool: o.Pool, Effect: string(o.Effect),
		},
		Anomalies: []results.Anomaly{},
	}
	if o.Scenario.Acquirer {
		run.Settings.AcquirerSettings = &results.AcquirerSettings{
			AcquirerLatencyMS: results.MS(o.Acquirer.Latency.Mean()), AcquirerLatency: o.Acquirer.Latency.String(),
			DeclineShare: o.Acquirer.DeclineShare, AcquirerDedup: o.Acquirer.Dedup,
		}
	}
	return run
}
