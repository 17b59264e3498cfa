package retry

import (
	"fmt"
	"runtime"
	"strings"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// mostNamed bounds how many intents a document names one by one; all of them are counted.
const mostNamed = 200

// describe starts the document: what was asked for, and of whom.
func describe(srv *server.Server, o Options) results.Run {
	info := srv.Info()
	run := results.Run{
		Engine: "retry", Scenario: scenarios.ChargeOnce.Name, Strategy: o.Strategy.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Seed: o.Seed,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(o.Isolation),
			Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool: results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Settings: &results.Settings{
			AttemptsPerIntent: o.Clicks, Intents: o.Intents, Rounds: 1,
			AcquirerSettings: &results.AcquirerSettings{
				AcquirerLatencyMS: results.MS(o.Acquirer.Latency.Mean()), AcquirerLatency: o.Acquirer.Latency.String(),
				DeclineShare: o.Acquirer.DeclineShare, AcquirerDedup: o.Acquirer.Dedup,
			},
			LeaseMS: results.MS(o.Lease), Instances: o.Instances, Pool: o.Pool, Effect: string(o.Effect),
		},
		Retry: &results.Retry{
			Settings: results.RetrySettings{
				TimeoutMS: results.MS(o.Timeout), Retries: o.Retries, Backoff: o.Backoff.String(), RetryAfterCapMS: results.MS(o.RetryAfterCap),
				KeyPolicy: string(o.KeyPolicy), Clicks: o.Clicks, Concurrency: o.Concurrency, Reconcile: o.Reconcile,
			},
			Faults: []results.RetryFault{}, Told: []results.RetryTold{}, Stories: []results.RetryStory{},
		},
		Anomalies: []results.Anomaly{},
	}
	if o.Reconcile {
		run.Retry.Settings.ReconcileMS = results.MS(o.reconcileAfter())
	}
	return run
}

// ending is what there was at the end. Where the run did not come so far, the ledger alone is asked.
func (r *runner) ending() (before, after *snapshot) {
	before, after = r.before, r.after
	if before == nil {
		before = &snapshot{ledger: map[string][]acquirer.Entry{}}
		for _, e := range r.acq.Ledger() {
			before.ledger[e.Intent] = append(before.ledger[e.Intent], e)
		}
	}
	if after == nil {
		after = before
	}
	return before, after
}

// facts is an intent as the scenario's checker wants it.
func (s *snapshot) facts(c *customer) scenarios.Intent {
	in := scenarios.Intent{Request: c.of, Clients: 1, Rows: s.rows[c.of.OrderID], RowsUnknown: s.rows == nil}
	count := acquirer.CountsOf(s.ledger[c.of.Key])[c.of.Key]
	in.Requests, in.Captures, in.Declines, in.CapturedCents = count.Requests, count.Captures, count.Declines, count.CapturedCents
	for _, a := range c.attempts {
		in.Attempts = append(in.Attempts, a.Attempt)
	}
	return in
}

// came are the customers that came at all: of an interrupted run not all have.
func (r *runner) came() (came []*customer) {
	for _, c := range r.customers {
		if len(c.attempts) > 0 {
			came = append(came, c)
		}
	}
	return came
}

// fill writes the measured part of the document.
func (r *runner) fill(run *results.Run) {
	before, after := r.ending()
	came := r.came()
	run.Counts = &results.Counts{AcquirerCounts: &results.AcquirerCounts{}}
	charged, money := 0, results.MoneyCounts{}
	run.Counts.IntentsCharged = &charged
	if r.o.Effect.Words().Cents {
		run.Counts.MoneyCounts = &money
	}
	run.Answers, run.SQLStates = map[string]int{}, map[string]int{}
	for _, a := range scenarios.ChargeOnce.Answers {
		run.Answers[string(a)] = 0
	}
	var rows, duplicateRows, orphans, withoutRecord int
	for _, c := range came {
		in := after.facts(c)
		in.Effect = r.o.Effect
		n := run.Counts
		n.Intents++
		n.Attempts += len(c.attempts)
		n.CaptureRequests += in.Requests
		n.Captures += in.Captures
		n.Declines += in.Declines
		money.CapturedCents += in.CapturedCents
		n.DuplicateCaptures += max(0, in.Captures-1)
		if in.Captures > 0 {
			charged++
			money.OwedCents += c.of.AmountCents
		}
		if in.Captures > 1 {
			n.IntentsDoubleCharged++
		}
		rows += len(in.Rows)
		duplicateRows += max(0, len(in.Rows)-1)
		for _, a := range c.attempts {
			if !a.Died {
				run.Answers[string(a.Answer)]++
			}
			if a.sqlstate != "" {
				run.SQLStates[a.sqlstate]++
			}
		}
		for _, f := range scenarios.ChargeOnce.Check(in) {
			switch f.Anomaly {
			case scenarios.Orphan:
				orphans += f.Count
			case scenarios.ChargedWithoutRecord:
				withoutRecord += f.Count
			case scenarios.AnsweredWithoutCharge:
				n.AnsweredWithoutCharge += f.Count
			}
			captures := in.Captures
			run.Anomalies = append(run.Anomalies, results.Anomaly{Kind: string(f.Anomaly), Intent: c.of.Key, Captures: &captures, Detail: f.Detail})
		}
	}
	if after.rows != nil { // what could not be read is absent, not zero
		run.Counts.Rows, run.Counts.DuplicateRows, run.Counts.Orphans, run.Counts.ChargedWithoutRecord = &rows, &duplicateRows, &orphans, &withoutRecord
	}
	r.fillRetry(run.Retry, came, before, after)
}

func (r *runner) fillRetry(d *results.Retry, came []*customer, before, after *snapshot) {
	struck := r.plan.Struck()
	for i, f := range r.plan.Faults() {
		d.Faults = append(d.Faults, results.RetryFault{Fault: f.String(), Kind: string(f.Kind), Struck: struck[i]})
	}
	d.ServiceStarts, d.ServiceDeaths, d.PostgresCrashes = r.starts, r.deaths, int(r.crashes.Load())
	r.fillClients(d, came, after)
	if before.rows != nil {
		fillOrphans(d, came, before, after, r.o.Effect)
		fillUnrecorded(d, came, before, after, r.o.Effect)
	}
	if r.o.Reconcile {
		reconciled := r.reconciled
		d.Reconciliation = &reconciled
	}
	d.Stories = r.stories(came, before, after)
}

// fillClients is what customers sent, heard and paid.
func (r *runner) fillClients(d *results.Retry, came []*customer, after *snapshot) {
	var took []time.Duration
	told := map[string]*results.RetryCharged{}
	finals := 0
	for _, c := range came {
		for _, a := range c.attempts {
			d.Requests.Sent++
			if a.Died {
				d.Requests.Unheard++
			} else {
				d.Requests.Answered++
			}
		}
		switch {
		case c.final == nil:
			d.Final.Never++
		case c.settled:
			d.Final.AtTheEnd++
		default:
			d.Final.DuringTheRun++
			took = append(took, c.finalAt.Sub(c.began))
		}
		if c.final != nil {
			finals++
		}
		answer := c.told()
		if told[answer] == nil {
			told[answer] = &results.RetryCharged{}
		}
		told[answer].Add(after.facts(c).Captures)
		d.Taken.Add(after.facts(c).Captures)
	}
	for _, a := range append(scenarios.ChargeOnce.Answers, "nothing") {
		if t := told[string(a)]; t != nil {
			d.Told = append(d.Told, results.RetryTold{Answer: string(a), Taken: *t})
		}
	}
	if finals > 0 {
		each := float64(d.Requests.Sent) / float64(finals)
		d.RequestsPerFinal = &each
	}
	d.TimeToFinal = results.Latency{N: len(took), Percentiles: results.PercentilesOf(took)}
}

func fillOrphans(d *results.Retry, came []*customer, before, after *snapshot, e scenarios.Effect) {
	d.Orphans = &results.RetryOrphans{Named: []results.RetryOrphan{}}
	for _, c := range came {
		if after.orphaned(c) {
			d.Orphans.After++
		}
		if !before.orphaned(c) {
			continue
		}
		d.Orphans.Before++
		if len(d.Orphans.Named) < mostNamed {
			d.Orphans.Named = append(d.Orphans.Named, results.RetryOrphan{
				Intent: c.of.Key, OrderID: c.of.OrderID, TakenCents: cents(e, before.facts(c).CapturedCents), Left: after.orphaned(c),
			})
		}
	}
}

func fillUnrecorded(d *results.Retry, came []*customer, before, after *snapshot, e scenarios.Effect) {
	d.Unrecorded = &results.RetryUnrecorded{Named: []results.RetryMoneyGap{}}
	var was, is int64
	for _, c := range came {
		lost, receipts := before.unrecorded(c)
		left, _ := after.unrecorded(c)
		was += lost
		is += left
		if lost > 0 && len(d.Unrecorded.Named) < mostNamed {
			d.Unrecorded.Named = append(d.Unrecorded.Named, results.RetryMoneyGap{
				Intent: c.of.Key, OrderID: c.of.OrderID, Cents: cents(e, lost), Receipts: receipts, Left: left > 0,
			})
		}
	}
	d.Unrecorded.BeforeCents, d.Unrecorded.AfterCents = cents(e, was), cents(e, is)
}

// cents is an amount where the effect is money, and else absent: nothing is no amount.
func cents(e scenarios.Effect, n int64) *int64 {
	if !e.Words().Cents {
		return nil
	}
	return &n
}

func (s *snapshot) orphaned(c *customer) bool {
	for _, row := range s.rows[c.of.OrderID] {
		if row.Status == "PROCESSANDO" {
			return true
		}
	}
	return false
}

// unrecorded is the money taken for an intent under receipts that stand in no row.
func (s *snapshot) unrecorded(c *customer) (cents int64, receipts []string) {
	for _, e := range s.ledger[c.of.Key] {
		if !e.Receipt.Approved || e.Repeat || s.records(c, e.Receipt.ID) {
			continue
		}
		cents += e.Charge.AmountCents
		receipts = append(receipts, e.Receipt.ID)
	}
	return cents, receipts
}

func (s *snapshot) records(c *customer, receipt string) bool {
	for _, row := range s.rows[c.of.OrderID] {
		if strings.Contains(row.Body, fmt.Sprintf("%q", receipt)) {
			return true
		}
	}
	return false
}
