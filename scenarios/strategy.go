package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Strategy is one way to answer an attempt, and what it claims about itself.
type Strategy struct {
	Name  string // as typed: kebab-case, and the name of its file with underscores
	Title string // one line
	Text  string // a paragraph: why it holds or how it fails, and what to use instead

	// Never are the anomalies that no engine may find; Shows are those that some engine must find, so that a bad example
	// stays bad. Both are tested. An anomaly in neither list is reported but not judged.
	Never []Claim
	Shows []Claim

	// Without names constraints of the schema that this strategy does without: the lab drops them for it.
	Without []string
	// Needs names constraints without which PostgreSQL refuses the strategy's own SQL: the lab looks before it runs.
	// A strategy that runs without its constraint, and is wrong then, does not list it: the run must find out.
	Needs []string

	// MinServer is the first major version of PostgreSQL that knows the strategy's SQL; 0 for any. On an older server the
	// strategy is skipped, which says nothing about it.
	MinServer int

	// WantsDedup says that the claims are made for an acquirer that moves money once for each key; engines then use one, and
	// the result says so.
	WantsDedup bool

	// Table is where the strategy keeps its charges, where that is not the scenario's first: what works on that one has no part in it.
	Table string

	// Installments says that the strategy tells an order's charges apart by Request.Installment, and refuses a key that was used for
	// another one. The others do not look at it: to them the key says everything.
	Installments bool

	// AcquirerKey is the key under which the acquirer knows a row's charge, of the row's id and idempotency_key: what to ask for
	// where nobody is left who made the request. Nil where it is the idempotency_key.
	AcquirerKey func(id int64, key string) string

	// Prepare makes what must be there before an intent's first attempt, such as the order's row. It may be called again for
	// the same intent, or for another one of the same order. Nil for most.
	Prepare func(ctx context.Context, db DB, req Request) error

	// New makes the handler of one service instance. What an instance shares among its attempts lives in the closure.
	New func(Env) Handler
}

// Lacking says why a server cannot run the strategy, given its server_version_num (150018 is 15.18); "" where it can.
func (s Strategy) Lacking(versionNum int) string {
	if major := versionNum / 10000; major < s.MinServer {
		return fmt.Sprintf("needs PostgreSQL %d or later, and this is %d", s.MinServer, major)
	}
	return ""
}

// Claim says that under a hazard, at these isolation levels (nil: at every one), an anomaly is never or always to be found.
type Claim struct {
	Under   Hazard
	At      []pgx.TxIsoLevel
	Anomaly Anomaly
}

// Handler answers one attempt. An error means that the client is told Failed; errors of PostgreSQL come back bare, so that
// the SQLSTATE can be read from them.
type Handler func(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error)

// Request is one attempt of one intent.
type Request struct {
	Key         string // the Idempotency-Key, the same for every attempt of an intent
	OrderID     int64
	AmountCents int64
	// Installment says which of the order's charges this is, by the shop's own count: 0 for the first or only one. Whoever asks for the
	// same charge says the same number, whatever key they have; a new try after a refusal is another charge, with another number.
	Installment int
	// Tenant is whose customer asks, where several share the service: 0 for the first or only one. Two tenants know nothing of each other,
	// and neither of the other's keys and orders.
	Tenant int64
}

// Response is what the client is told. First answer and replay carry what the database stored, not what was written to it.
type Response struct {
	Answer Answer
	HTTP   int
	Body   string
}

// DB is the database as a strategy sees it, with pgx's signatures. In a service a pool stands behind it, and a connection is
// held only for the length of a call, a transaction or a session; in the explorer one gated connection does.
// A transaction's Conn is not for strategies.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error)
	// Session pins one connection for f: for what is bound to a connection, such as a session-level advisory lock.
	Session(ctx context.Context, f func(DB) error) error
}

// Acquirer moves the money. It stands outside the database: no rollback undoes what it did.
type Acquirer interface {
	// Capture asks for the money. It returns a receipt, approved or declined, or ErrOutcomeUnknown, after which the money may
	// or may not have moved: a safe strategy then leaves PROCESSANDO and fails; it neither deletes its claim nor writes RECUSADA.
	Capture(ctx context.Context, c Charge) (Receipt, error)
	// Find asks what became of a key: the receipt, and whether there is one. Where there is nobody to ask it returns ErrCannotAsk, which
	// is not "there is none": the charge is left as it is, by hand to be looked at, and never asked for again.
	Find(ctx context.Context, key string) (Receipt, bool, error)
}

// Charge is what the acquirer is asked for.
type Charge struct {
	Key         string
	OrderID     int64
	AmountCents int64
	Installment int
	Tenant      int64
}

// Receipt is the acquirer's word on one charge.
type Receipt struct {
	ID       string
	Approved bool
}

// ErrOutcomeUnknown says that the acquirer's answer never came. Test for it with errors.Is.
var ErrOutcomeUnknown = errors.New("outcome unknown")

// ErrCannotAsk says that what is behind the acquirer has no way to tell what became of a key, now or later: an e-mail is sent and
// forgotten. An unknown outcome then stays unknown. Test for it with errors.Is.
var ErrCannotAsk = errors.New("cannot be asked")

// Env is what an instance is given from outside, so that engines own time, chance and waiting.
type Env struct {
	Now  func() time.Time
	Seed uint64
	// Lease is how long a claim is its worker's own, for strategies that lease; 0 is each one's own default.
	Lease time.Duration
	// Every calls beat at an interval, in a goroutine of its own, until it is stopped. stop waits for a beat that is under way, and may
	// be called twice. nil: by the clock.
	Every func(interval time.Duration, beat func()) (stop func())
	// Lock takes the instance's mutex of that name and returns its release. Waiting outside PostgreSQL goes through it or through
	// Gather, so that an engine can see it. It fails when ctx ends first.
	Lock func(ctx context.Context, name string) (unlock func(), err error)
	// Gather does in one go what several attempts of the instance have to do at about the same time. The item joins a batch of
	// b's name, one of the batch's attempts runs b.Run over all of its items, on the DB that it came with, and each attempt's
	// Gather returns when that has: with the number of items, and Run's error. Items are in the order in which they came; which
	// of them meet, who leads, and when a batch leaves is the engine's to decide, within b.Most and b.Wait.
	//
	// Where ctx ends first, Gather returns its error and 0. The batch goes on for the others (Run's context ends when nobody
	// waits any more), so that the item may yet be acted upon, and must not be touched.
	Gather func(ctx context.Context, db DB, b Batch, item any) (n int, err error)
}

// Batch is what attempts can do together.
type Batch struct {
	Name string        // items of one name meet
	Most int           // a batch of as many leaves
	Wait time.Duration // and so does one that is as old
	Run  func(ctx context.Context, db DB, items []any) error
}
