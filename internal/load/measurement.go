package load

import (
	"context"
	"sync/atomic"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/internal/lockwait"
	"idemlab/results"
	"idemlab/scenarios"
)

// measurement is everything that a load run measured, before it is judged.
type measurement struct {
	options Options
	window  window
	book    *book
	samples lockwait.Samples

	sum     *tally // of all instances
	latest  []standing
	seconds map[int]*tally // not yet over at every instance
	rows    []results.Second
	stopped atomic.Pointer[time.Time] // when the run was stopped early; nil where it was not
	found   map[scenarios.Anomaly]int // once the rows are read
	cpuWarm time.Duration             // what the instances had taken at the end of the warm-up
	wasWarm bool
	least2  int // intents that two attempts must have tried at once
}

func newMeasurement(o Options, acq *acquirer.Acquirer) *measurement {
	return &measurement{options: o, book: newBook(o, acq), sum: newTally(), latest: make([]standing, o.Instances), seconds: map[int]*tally{}, least2: fewest}
}

// headStart is the time for every instance to be there when the first attempt is due.
const headStart = 50 * time.Millisecond

// begin says when attempts are to start.
func (m *measurement) begin() {
	start := time.Now().Add(headStart)
	m.window = window{Start: start, Warm: start.Add(m.options.Warmup), End: start.Add(m.options.Warmup + m.options.Duration)}
}

// enter adds a share to what was measured.
func (m *measurement) enter(member int, s share) {
	m.book.enter(member, s.Facts)
	m.sum.add(s.tally)
	if n := m.second(s.Until); n > 0 {
		if m.seconds[n] == nil {
			m.seconds[n] = newTally()
		}
		m.seconds[n].add(s.tally)
	}
	s.Facts = nil
	m.latest[member] = s.standing
	if !m.wasWarm && !m.least().Before(m.window.Warm) {
		m.wasWarm, m.cpuWarm = true, m.cpu()
	}
	for {
		next := len(m.rows) + 1
		end := m.window.Warm.Add(time.Duration(next) * time.Second)
		if m.least().Before(end) || end.After(m.end()) {
			break
		}
		m.endSecond(next)
	}
	m.live()
}

// second is the number of the second in which a share ends, from 1; 0 in the warm-up.
func (m *measurement) second(until time.Time) int {
	since := until.Sub(m.window.Warm)
	if since <= 0 || until.After(m.end()) {
		return 0
	}
	return int((since-1)/time.Second) + 1
}

// least is the time up to which every instance has said what it measured.
func (m *measurement) least() time.Time {
	var least time.Time
	for i, s := range m.latest {
		if i == 0 || s.Until.Before(least) {
			least = s.Until
		}
	}
	return least
}

// endSecond makes a row of a second that is over. A last one that is not whole has none.
func (m *measurement) endSecond(n int) {
	t := m.seconds[n]
	delete(m.seconds, n)
	row := results.Second{Second: n}
	if t != nil {
		row.Attempts, row.Captures, row.Failed = int(t.Answered.TotalCount()), t.Captures, t.Failed
		row.Percentiles = percentiles(t.Answered, t.MaxAnswered)
	}
	for _, s := range m.latest {
		row.InFlight += s.InFlight
		row.PoolQueue += s.Queue
	}
	m.rows = append(m.rows, row)
}

// stoppable returns a context for the run, which is stopped when ctx ends or stop is called. What is answered after that moment no
// longer counts, here or at any instance: the context's cause is a cut (window.until).
func (m *measurement) stoppable(ctx context.Context) (run context.Context, stop func()) {
	run, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop = func() {
		at := time.Now()
		if m.stopped.CompareAndSwap(nil, &at) {
			end(cut{at})
		}
	}
	deaf := context.AfterFunc(ctx, stop)
	context.AfterFunc(run, func() { deaf() })
	return run, stop
}

// end is when the window closes, or was cut short.
func (m *measurement) end() time.Time {
	if at := m.stopped.Load(); at != nil && at.Before(m.window.End) {
		return *at
	}
	return m.window.End
}

// measured is the time from the end of the warm-up to the end of the arrivals.
func (m *measurement) measured() time.Duration { return max(0, m.end().Sub(m.window.Warm)) }

func (m *measurement) live() {
	if m.options.Live == nil {
		return
	}
	p := Progress{Elapsed: m.least().Sub(m.window.Start), Warming: m.least().Before(m.window.Warm), Dropped: m.sum.Dropped}
	if len(m.rows) > 0 {
		p.Last = m.rows[len(m.rows)-1]
	}
	p.Total = latency(m.sum.Response, m.sum.MaxResponse)
	m.options.Live(p)
}

// cpu is the processor time of all instances; negative where the system does not say.
func (m *measurement) cpu() (sum time.Duration) {
	for _, s := range m.latest {
		if s.Client.CPU < 0 {
			return -1
		}
		sum += s.Client.CPU
	}
	return sum
}
