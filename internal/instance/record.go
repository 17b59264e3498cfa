package instance

import (
	"sync"
	"time"

	"idemlab/scenarios"
)

// Record is all that is known of one attempt. It crosses process borders as JSON; its times are of the machine's clock, which
// the instances share.
type Record struct {
	Answer   scenarios.Answer
	HTTP     int
	Body     string
	SQLState string // of the error that reached the client; empty where it was none of PostgreSQL's
	Err      string
	// LostServer says that the error was the server's: it went away, or has no disk left.
	LostServer bool
	// OutcomeUnknown says that the acquirer's answer never came: money may have moved, or not.
	OutcomeUnknown bool
	// GivenUp says that the attempt was ended because it had lasted too long: its caller learned nothing.
	GivenUp bool
	// Tenant is whose customer asked, by the request.
	Tenant int64 `json:",omitempty"`
	// Astray says that the acquirer was told to charge another tenant.
	Astray bool `json:",omitempty"`

	Called     time.Time // left the gate
	Sent       time.Time // first statement sent, or process lock asked for; zero where neither was
	Answered   time.Time
	PoolWaits  []time.Duration // one for each time that no connection of the pool was free
	Statements []Statement
	Holds      []Hold
}

// Statement is one round trip to the server.
type Statement struct {
	Step       string // as the statement names itself; "begin", "commit", "rollback" for those
	PID        uint32 // the backend
	Start, End time.Time
}

// Hold is the time for which an attempt had a connection.
type Hold struct {
	PID      uint32
	From, To time.Time
}

// recorder collects for one attempt. A strategy may use its DB from several goroutines (a heartbeat), so it locks.
type recorder struct {
	mu    sync.Mutex
	rec   Record
	loans []*loan // connections that it has not given back
	watch Watch   // nil for most

	// Room for what most attempts come to: under load, every allocation is taken from the service's time.
	statements [4]Statement
	holds      [3]Hold
	lent       [1]*loan
	room       [2]loan
	used       int // of room
}

// recording is the context's key for the attempt's recorder: what is in Env belongs to an instance, and is asked by an attempt.
type recording struct{}

func newRecorder() *recorder {
	r := &recorder{}
	r.rec.Statements, r.rec.Holds, r.loans = r.statements[:0], r.holds[:0], r.lent[:0]
	return r
}

func (r *recorder) record() Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rec
}

func (r *recorder) waited(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rec.PoolWaits = append(r.rec.PoolWaits, d)
}

// underWay is a statement that has been sent. It is a value and not a closure, because every statement has one.
type underWay struct {
	rec   *recorder
	step  string
	pid   uint32
	start time.Time
}

// sending notes that a statement is about to be sent.
func (r *recorder) sending(step string, pid uint32) underWay {
	u := underWay{r, step, pid, time.Now()}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun(u.start)
	return u
}

// answered notes that its answer is there, or will never be.
func (u underWay) answered() {
	u.rec.mu.Lock()
	u.rec.rec.Statements = append(u.rec.rec.Statements, Statement{u.step, u.pid, u.start, time.Now()})
	u.rec.mu.Unlock()
	if u.rec.watch != nil {
		u.rec.watch.Answered(u.step)
	}
}

// inFlight notes that the attempt is at work, before it has sent anything.
func (r *recorder) inFlight(at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun(at)
}

func (r *recorder) begun(at time.Time) {
	if r.rec.Sent.IsZero() {
		r.rec.Sent = at
	}
}
