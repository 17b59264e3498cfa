package load

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// Histograms are of microseconds with three significant digits, up to an hour; what takes longer counts as an hour, and the true
// maximum is kept beside them.
const (
	longestUS   = int64(time.Hour / time.Microsecond)
	significant = 3
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, longestUS, significant) }

// tally is what some attempts came to.
type tally struct {
	Response, Service *hdrhistogram.Histogram // of those that count: that were to start after the warm-up
	Answered          *hdrhistogram.Histogram // response times of all that were answered, warm-up included
	PoolWaits         *hdrhistogram.Histogram // waits for a connection, where none was free
	sums
}

// sums are a tally's plain numbers.
type sums struct {
	MaxResponse, MaxService, MaxAnswered, MaxPoolWait time.Duration

	Attempts, Dropped int           // that count
	Served            int           // answered within the window, whenever they were to start
	Captures, Failed  int           // of all that were answered
	Held, PoolWaited  time.Duration // connections × time in the hands of attempts, and attempts × time waiting for one
}

func newTally() *tally {
	return &tally{Response: newHistogram(), Service: newHistogram(), Answered: newHistogram(), PoolWaits: newHistogram()}
}

// reset empties a tally, to be filled again.
func (t *tally) reset() {
	for _, h := range []*hdrhistogram.Histogram{t.Response, t.Service, t.Answered, t.PoolWaits} {
		if h.TotalCount() > 0 { // a fifth of a megabyte to clear
			h.Reset()
		}
	}
	t.sums = sums{}
}

// add adds another tally to this one.
func (t *tally) add(o *tally) {
	merge(t.Response, o.Response)
	merge(t.Service, o.Service)
	merge(t.Answered, o.Answered)
	merge(t.PoolWaits, o.PoolWaits)
	t.MaxResponse, t.MaxService = max(t.MaxResponse, o.MaxResponse), max(t.MaxService, o.MaxService)
	t.MaxAnswered, t.MaxPoolWait = max(t.MaxAnswered, o.MaxAnswered), max(t.MaxPoolWait, o.MaxPoolWait)
	t.Attempts += o.Attempts
	t.Served += o.Served
	t.Dropped += o.Dropped
	t.Captures += o.Captures
	t.Failed += o.Failed
	t.Held += o.Held
	t.PoolWaited += o.PoolWaited
}

func merge(into, from *hdrhistogram.Histogram) {
	if from.TotalCount() > 0 {
		into.Merge(from)
	}
}

// record notes one attempt. Due is when it was to start; counts says whether it did so within the window.
func (t *tally) record(due time.Time, counts, served bool, rec *instance.Record) {
	response := rec.Answered.Sub(due)
	begun := rec.Sent
	if begun.IsZero() {
		begun = rec.Called
	}
	service := rec.Answered.Sub(begun)
	note(t.Answered, &t.MaxAnswered, response)
	if counts {
		note(t.Response, &t.MaxResponse, response)
		note(t.Service, &t.MaxService, service)
		t.Attempts++
	}
	if served {
		t.Served++
	}
	switch rec.Answer {
	case scenarios.Charged:
		t.Captures++
	case scenarios.Failed:
		t.Failed++
	}
	for _, w := range rec.PoolWaits {
		note(t.PoolWaits, &t.MaxPoolWait, w)
		t.PoolWaited += w
	}
	for _, h := range rec.Holds {
		t.Held += h.To.Sub(h.From)
	}
}

func note(h *hdrhistogram.Histogram, most *time.Duration, d time.Duration) {
	*most = max(*most, d)
	_ = h.RecordValue(min(max(d.Microseconds(), 0), longestUS)) // in range, so that there is no error
}

// meter is where attempts are recorded. Each of its parts has a histogram of its own and is seldom wanted by two at once.
type meter struct {
	parts []*part
}

type part struct {
	mu    sync.Mutex
	tally *tally
	spare *tally
	facts []fact
}

// parts is enough for few attempts to meet at one.
const parts = 4

func newMeter() *meter {
	m := &meter{}
	for range parts {
		m.parts = append(m.parts, &part{tally: newTally(), spare: newTally()})
	}
	return m
}

// of is the part in which the attempt of that number is recorded.
func (m *meter) of(seq uint64) *part { return m.parts[seq%uint64(len(m.parts))] }

// record notes an attempt that was to start at due. Stopped says that it was ended because the run was.
func (p *part) record(seq uint64, due time.Time, w window, rec *instance.Record, stopped bool) {
	f := factOf(seq, rec, stopped)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally.record(due, !stopped && w.counts(due), !stopped && w.counts(rec.Answered), rec)
	p.facts = append(p.facts, f)
}

func factOf(seq uint64, rec *instance.Record, stopped bool) fact {
	f := fact{
		Seq: seq, Answer: rec.Answer, HTTP: rec.HTTP, Body: rec.Body, State: rec.SQLState,
		GivenUp: rec.GivenUp, Stopped: stopped, Sent: rec.Sent, Ended: rec.Answered,
	}
	if rec.LostServer && !stopped {
		f.Lost = rec.Err
	}
	return f
}

// drop notes an arrival that was never sent.
func (p *part) drop(counts bool, seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if counts {
		p.tally.Dropped++
	}
	p.facts = append(p.facts, fact{Seq: seq, Dropped: true})
}

// collect takes what was recorded since the last time, and adds the tallies to into.
func (m *meter) collect(into *tally) (facts []fact) {
	for _, p := range m.parts {
		p.mu.Lock()
		full := p.tally
		p.tally, p.spare = p.spare, full
		facts = append(facts, p.facts...)
		p.facts = p.facts[:0]
		p.mu.Unlock()
		into.add(full) // nobody else has it before the next collect
		full.reset()
	}
	return facts
}
