package repeats

import (
	"fmt"
	"runtime"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// evidence is everything that was measured, before it is judged.
type evidence struct {
	work         *work
	checkpointed bool

	first     instance.Record // finished the key
	uncounted instance.Record // the first repeat
	counted   []instance.Record
	span      time.Duration // of the counted ones

	took, idle counters
	ledger     acquirer.Count
	rows       []scenarios.Row
}

// fill writes the document, and the verdict: the scenario's own checker is held to everything, since with one attempt at a time there is
// nothing that a strategy could be excused for.
func (ev *evidence) fill(run *results.Run) {
	client, each, around := ev.client(), ev.each(), ev.around()
	run.Repeats.Counted, run.Repeats.Client, run.Repeats.PerRepeat, run.Repeats.Around = len(ev.counted), &client, &each, &around
	run.Answers, run.SQLStates = map[string]int{}, map[string]int{}
	for _, a := range ev.work.Strategy.Scenario().Answers {
		run.Answers[string(a)] = 0
	}
	for _, r := range ev.all() {
		run.Answers[string(r.Answer)]++
		if r.SQLState != "" {
			run.SQLStates[r.SQLState]++
		}
	}
	for _, r := range ev.counted {
		if r.Answer == scenarios.Replayed {
			run.Repeats.Replayed++
		}
	}
	e := check.Evidence{Doubt: ev.doubt()}
	for _, f := range ev.work.Strategy.Scenario().Check(ev.facts()) {
		e.Found = append(e.Found, f.Anomaly)
		captures := ev.ledger.Captures
		run.Anomalies = append(run.Anomalies, results.Anomaly{
			Kind: string(f.Anomaly), Intent: ev.work.req.Key, Captures: &captures, Judged: true, Detail: f.Detail,
		})
	}
	j := check.Judge(check.ExpectHeld, nil, nil, e)
	run.Verdict, run.Expected, run.Reason, run.ExitCode = j.Verdict, j.Expected, j.Reason, j.ExitCode
	if j.Verdict == results.Held {
		run.Reason = fmt.Sprintf("told once, and %d of %d repeats replayed", len(ev.counted)+1, len(ev.counted)+1)
	}
}

// doubt says why the repeats prove nothing.
func (ev *evidence) doubt() string {
	if a := ev.first.Answer; a != scenarios.Charged {
		return fmt.Sprintf("the first attempt did not finish the key: it was told %s %s", a, ev.first.Err)
	}
	return ""
}

func (ev *evidence) all() []instance.Record {
	return append([]instance.Record{ev.first, ev.uncounted}, ev.counted...)
}

// facts is the intent as the scenario's checker wants it: what came after the first attempt came when nothing was in flight.
func (ev *evidence) facts() scenarios.Intent {
	in := scenarios.Intent{
		Request: ev.work.req, Clients: 1, Rows: ev.rows,
		Requests: ev.ledger.Requests, Captures: ev.ledger.Captures, Declines: ev.ledger.Declines, CapturedCents: ev.ledger.CapturedCents,
	}
	for i, r := range ev.all() {
		in.Attempts = append(in.Attempts, scenarios.Attempt{Answer: r.Answer, HTTP: r.HTTP, Body: r.Body, Followup: i > 0})
	}
	return in
}

func (ev *evidence) client() results.Latency {
	var took []time.Duration
	for _, r := range ev.counted {
		took = append(took, r.Answered.Sub(r.Called))
	}
	return results.Latency{N: len(took), Percentiles: results.PercentilesOf(took)}
}

func (ev *evidence) each() results.PerRepeat {
	per := func(n int64) float64 { return float64(n) / float64(len(ev.counted)) }
	t := ev.took
	d := results.PerRepeat{
		WALBytes: per(t.wal), XIDs: per(t.xids), HeapBytes: per(t.heap), IndexBytes: per(t.indexes), SequenceNumbers: per(t.sequenceNumbers),
	}
	if s := t.statistics; s != nil {
		versions, dead := per(s.versions), per(s.dead)
		d.RowVersions, d.DeadRows = &versions, &dead
	}
	if t.cpu != nil {
		ms := float64(t.cpu.Nanoseconds()) / 1e6 / float64(len(ev.counted))
		d.ServerCPUMS = &ms
	}
	return d
}

func (ev *evidence) around() results.AroundRepeats {
	return results.AroundRepeats{
		Checkpointed: ev.checkpointed, IdleMS: results.MS(ev.span), IdleWALBytes: ev.idle.wal, IdleXIDs: ev.idle.xids,
	}
}

// describe starts the document of a run: what was asked for, and of whom.
func describe(srv *server.Server, o Options) results.Run {
	info := srv.Info()
	return results.Run{
		Engine: "repeats", Scenario: o.Strategy.Scenario().Name, Strategy: o.Strategy.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Seed: o.Seed,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(o.Isolation),
			Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool:      results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Repeats:   &results.Repeats{Settings: results.RepeatsSettings{Repeats: o.Repeats}},
		Anomalies: []results.Anomaly{},
	}
}
