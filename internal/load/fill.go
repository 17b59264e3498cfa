package load

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"idemlab/internal/lockwait"
	"idemlab/results"
	"idemlab/scenarios"
)

// mostNamed bounds how many intents a document names for one kind of anomaly; all of them are counted.
const mostNamed = 50

// fill writes the measured part of the document: counts, answers, waits and anomalies, without a verdict.
func (m *measurement) fill(run *results.Run) {
	t := m.book.totals
	run.Anomalies = m.anomalies()
	run.Counts = &results.Counts{Intents: t.intents, IntentsCharged: &t.charged, Attempts: t.attempts, AcquirerCounts: m.counts()}
	run.Answers, run.SQLStates = t.answers, t.sqlstates
	response := latency(m.sum.Response, m.sum.MaxResponse)
	run.Latency = &results.Latency{N: response.N, Percentiles: response.Percentiles}
	run.Waits = m.waits()

	measured := m.measured()
	l := &results.Load{
		Settings: m.options.settings(), MeasuredMS: results.MS(measured), Attempts: m.sum.Attempts, Dropped: m.sum.Dropped,
		Response: response, Service: latency(m.sum.Service, m.sum.MaxService), Seconds: m.rows,
		Repeats: t.repeats, IntentsRepeated: t.repeated, IntentsOverlapped: t.overlapped, IntentsTurnedAway: t.turned, IntentsUnfinished: t.cut,
		Connections: results.Connections{HeldSeconds: seconds(m.sum.Held), IdleInTxSeconds: seconds(m.samples.IdleInTx)},
		Blocking:    blocking(m.samples.Waits),
	}
	if measured > 0 {
		l.PerSecond = math.Round(10*float64(m.sum.Served)/measured.Seconds()) / 10
	}
	if l.Seconds == nil {
		l.Seconds = []results.Second{}
	}
	if t.ledger.Captures > 0 {
		each := round(m.sum.Held.Seconds() / float64(t.ledger.Captures))
		l.Connections.SecondsPerCapture = &each
	}
	m.client(&l.Client)
	run.Load = l
}

// client says what the instances took.
func (m *measurement) client(c *results.LoadClient) {
	var each float64
	for _, s := range m.latest {
		c.GOMAXPROCS = max(c.GOMAXPROCS, s.Client.Procs)
		c.HeapMiB += float64(s.Client.Heap) / (1 << 20)
		c.MaxInFlight += s.Most
		each = max(each, s.Client.Each)
	}
	c.HeapMiB = round(c.HeapMiB)
	if each > 0 {
		each = math.Round(each)
		c.BytesPerInFlight = &each
	}
	if cpu := m.cpu(); cpu >= 0 && m.wasWarm && m.sum.Attempts > 0 {
		us := round(float64((cpu - m.cpuWarm).Microseconds()) / float64(m.sum.Attempts))
		c.CPUUSPerAttempt = &us
	}
}

func (m *measurement) counts() *results.AcquirerCounts {
	t := m.book.totals
	c := &results.AcquirerCounts{
		CaptureRequests: t.ledger.Requests, Captures: t.ledger.Captures, Declines: t.ledger.Declines,
		DuplicateCaptures: t.duplicates, IntentsDoubleCharged: t.doubleCharged,
		AnsweredWithoutCharge: m.found[scenarios.AnsweredWithoutCharge],
		MoneyCounts:           &results.MoneyCounts{OwedCents: t.owedCents, CapturedCents: t.ledger.CapturedCents},
	}
	if t.rowsRead { // what could not be read is absent, not zero
		orphans, withoutRecord := m.found[scenarios.Orphan], m.found[scenarios.ChargedWithoutRecord]
		c.Rows, c.DuplicateRows, c.Orphans, c.ChargedWithoutRecord = &t.rows, &t.duplicateRows, &orphans, &withoutRecord
	}
	return c
}

// anomalies lets the scenario's checker look at every intent that came to something odd, and counts what it finds.
func (m *measurement) anomalies() []results.Anomaly {
	m.found = map[scenarios.Anomaly]int{}
	named := []results.Anomaly{}
	intents := map[scenarios.Anomaly]int{}
	name := func(in scenarios.Intent, f scenarios.Finding) {
		m.found[f.Anomaly] += f.Count
		if intents[f.Anomaly]++; intents[f.Anomaly] <= mostNamed {
			named = append(named, results.Anomaly{Kind: string(f.Anomaly), Intent: in.Request.Key, Captures: &in.Captures, Detail: f.Detail})
		}
	}
	for _, number := range slices.Sorted(maps.Keys(m.book.odd)) {
		in := *m.book.odd[number]
		in.RowsUnknown = !m.book.totals.rowsRead
		for _, f := range m.options.Scenario.Check(in) {
			name(in, f)
		}
	}
	for _, in := range m.book.twice {
		unread := *in
		unread.RowsUnknown = true
		for _, f := range m.options.Scenario.Check(unread) {
			if f.Anomaly == scenarios.DoubleCharge {
				name(unread, f)
			}
		}
	}
	return named
}

func (m *measurement) waits() *results.Waits {
	var server []time.Duration
	for _, w := range m.samples.Waits {
		server = append(server, w.Length)
	}
	w := &results.Waits{Events: []results.Event{}}
	w.Lock.Distribution = results.Distribute(server)
	w.Pool = results.Distribution{
		Count: int(m.sum.PoolWaits.TotalCount()), TotalMS: results.MS(m.sum.PoolWaited), Percentiles: percentiles(m.sum.PoolWaits, m.sum.MaxPoolWait),
	}
	for _, name := range slices.Sorted(maps.Keys(m.samples.Events)) {
		c := m.samples.Events[name]
		w.Events = append(w.Events, results.Event{Event: name, Samples: c.Samples, MaxWaiters: c.MaxWaiters})
	}
	if s := m.samples; s.Polls > 0 {
		w.Sampling = &results.Sampling{
			IntervalMS: results.MS(lookEvery), Polls: s.Polls,
			PollMeanMS: results.MS(s.Cost / time.Duration(s.Polls)), PollMaxMS: results.MS(s.Worst),
		}
	}
	return w
}

// blocking adds the waits up by who waited for whom at what, the longest first.
func blocking(waits []lockwait.Wait) []results.Blocking {
	sums := map[results.Blocking]time.Duration{}
	for _, w := range waits {
		sums[results.Blocking{Waiter: w.Step, Event: w.Event, Blocker: w.BlockerStep, State: w.BlockerState}] += w.Length
	}
	var list []results.Blocking
	for b, d := range sums {
		b.Seconds = seconds(d)
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b results.Blocking) int {
		return cmp.Or(cmp.Compare(b.Seconds, a.Seconds), cmp.Compare(a.Waiter+a.Event+a.Blocker+a.State, b.Waiter+b.Event+b.Blocker+b.State))
	})
	return list
}

func seconds(d time.Duration) float64 { return round(d.Seconds()) }

func round(f float64) float64 { return math.Round(1000*f) / 1000 }
