package consume

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/broker"
	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/scenarios"
)

// The run and a consumer talk in JSON values over the consumer's stdin and stdout.

// setup is the first value that a consumer reads. It travels over the pipe and not as an argument, because it holds passwords.
type setup struct {
	DSN, SearchPath, AppName string
	Queue                    broker.Address
	Acquirer                 string // base URL
	Strategy                 string
	Isolation                pgx.TxIsoLevel
	Seed                     uint64
	Lease                    time.Duration

	KeyFrom                                 KeyFrom
	Workers                                 int
	MaxDeliveries                           int
	RetryAfter, OrphanAfter, AttemptTimeout time.Duration
}

func (o Options) setup(srv *server.Server, schema *server.Schema, queue broker.Address, acquirer string) setup {
	return setup{
		DSN: srv.DSN(), SearchPath: schema.Config().RuntimeParams["search_path"], AppName: schema.Name(),
		Queue: queue, Acquirer: acquirer, Strategy: o.Strategy.Name, Isolation: o.Isolation, Seed: o.Seed, Lease: o.Lease,
		KeyFrom: o.KeyFrom, Workers: o.Prefetch, MaxDeliveries: o.MaxDeliveries,
		RetryAfter: o.RetryAfter, OrphanAfter: o.OrphanAfter, AttemptTimeout: o.AttemptTimeout,
	}
}

// order is every further value that a consumer reads.
type order struct {
	Go   *int `json:",omitempty"` // this worker goes on
	Stop bool `json:",omitempty"` // end what is in hand, receive nothing more
}

// report is what a consumer says. Of the first one, Step is ready.
type report struct {
	Step    step
	Worker  int
	Message string      `json:",omitempty"` // its ID
	Order   int64       `json:",omitempty"`
	Number  int         `json:",omitempty"` // of the delivery
	Attempt *attempt    `json:",omitempty"`
	Orphans *reconciled `json:",omitempty"`
	Error   string      `json:",omitempty"`
}

// step is where a worker is with its message. At those marked so it waits for the word to go on.
type step string

const (
	ready     step = "ready"
	received  step = "received" // waits
	captured  step = "captured" // waits
	answered  step = "answered" // waits
	cleared   step = "cleared"  // orphans away
	acked     step = "acked"
	late      step = "late" // for whichever end: the message is another's
	givenBack step = "given back"
	setAside  step = "set aside"
)

// attempt is how the strategy answered.
type attempt struct {
	Answer     scenarios.Answer
	HTTP       int
	Body       string
	SQLState   string `json:",omitempty"`
	Err        string `json:",omitempty"`
	LostServer bool   `json:",omitempty"`
	GivenUp    bool   `json:",omitempty"`
}

func attemptOf(r instance.Record) *attempt {
	return &attempt{r.Answer, r.HTTP, r.Body, r.SQLState, r.Err, r.LostServer, r.GivenUp}
}

// final says whether the message is done with: what else it is told about is to be asked again.
func (a attempt) final() bool {
	return a.Answer != scenarios.InProgress && a.Answer != scenarios.Failed
}

// line is one end of the conversation.
type line struct {
	enc *json.Encoder
	dec *json.Decoder
}

func newLine(r io.Reader, w io.Writer) line { return line{json.NewEncoder(w), json.NewDecoder(r)} }

// hear reads the answer to the setup.
func (l line) hearReady() error {
	var r report
	if err := l.dec.Decode(&r); err != nil {
		return err
	}
	if r.Error != "" || r.Step != ready {
		return fmt.Errorf("consumer: %s", r.Error)
	}
	return nil
}
