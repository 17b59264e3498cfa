package retry

import (
	"encoding/json"
	"io"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// The run and a service in a process of its own talk in JSON values over the child's stdin and stdout. Where something may go
// wrong the child asks, and the run decides: it alone outlives the processes, and so it alone can count. The end of the pipe is
// the end of the run, whatever ended it.

// setup is the first value that a child reads. It travels over the pipe and not as an argument, because a DSN may hold a password.
type setup struct {
	DSN        string
	Tables     string
	Pool       int
	Isolation  pgx.TxIsoLevel
	Strategy   string
	Seed       uint64
	Lease      time.Duration
	Acquirer   string // base URL
	Timeout    time.Duration
	RetryAfter time.Duration
	Points     []string // at which the child is to ask
}

// order is every further value: an answer to a question, or the word to end.
type order struct {
	ID     uint64 `json:",omitempty"`
	Struck bool   `json:",omitempty"`
	Stop   bool   `json:",omitempty"`
}

// report is what a child says: where it listens, or why it does not; and then its questions.
type report struct {
	URL   string    `json:",omitempty"`
	Error string    `json:",omitempty"`
	Ask   *question `json:",omitempty"`
}

// question is that of an attempt which has come to a point.
type question struct {
	ID     uint64
	Point  string
	Intent string
}

// talk is the child's end of the conversation. It is safe for concurrent use.
type talk struct {
	mu      sync.Mutex
	enc     *json.Encoder
	last    uint64
	waiting map[uint64]chan bool
	told    bool // to stop: the end of the pipe is then no surprise
	over    bool
}

func newTalk(w io.Writer) *talk {
	return &talk{enc: json.NewEncoder(w), waiting: map[uint64]chan bool{}}
}

func (t *talk) say(r report) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.enc.Encode(r)
}

// ask says whether something goes wrong at a point. Where nobody is left to answer, nothing does.
func (t *talk) ask(point, intent string) bool {
	c := make(chan bool, 1)
	t.mu.Lock()
	if t.over {
		t.mu.Unlock()
		return false
	}
	t.last++
	t.waiting[t.last] = c
	err := t.enc.Encode(report{Ask: &question{t.last, point, intent}})
	if err != nil {
		delete(t.waiting, t.last)
	}
	t.mu.Unlock()
	return err == nil && <-c
}

// listen reads answers until the conversation is over, and calls gone then or when told to stop.
func (t *talk) listen(dec *json.Decoder, gone func()) {
	defer gone()
	for {
		var o order
		if err := dec.Decode(&o); err != nil {
			t.end()
			return
		}
		if o.Stop {
			t.mu.Lock()
			t.told = true
			t.mu.Unlock()
			gone()
			continue
		}
		t.mu.Lock()
		c := t.waiting[o.ID]
		delete(t.waiting, o.ID)
		t.mu.Unlock()
		if c != nil {
			c <- o.Struck
		}
	}
}

func (t *talk) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	for id, c := range t.waiting {
		c <- false
		delete(t.waiting, id)
	}
}

// toldToStop says whether the run is still there and wants this process to end.
func (t *talk) toldToStop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.told
}
