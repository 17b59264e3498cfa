package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/scenarios"
)

// DB is what the reconciler needs of the database: a connection, a pool, or a strategy's view of either.
type DB interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Finder is what it needs of the acquirer.
type Finder interface {
	// Find asks what became of a key: the receipt, and whether there is one.
	Find(ctx context.Context, key string) (scenarios.Receipt, bool, error)
}

// Options say which rows are orphans, and what may be done with them.
type Options struct {
	// Lease is how long a claim is its worker's own. A row that has been PROCESSANDO for longer, by the server's clock, is an orphan:
	// make it longer than the longest call to the acquirer.
	Lease time.Duration
	// Deadline is after how long the acquirer is certain to refuse a request that was under way: a row of that age of which it knows
	// nothing is closed as RECUSADA. 0: never, which is right unless the acquirer has promised one.
	Deadline time.Duration
	// NothingUnderWay says that whoever sends requests has stopped, and that none can be on its way any more: what the acquirer does not
	// know is closed at any age, as behind a deadline.
	NothingUnderWay bool
	// DryRun asks the acquirer and changes nothing.
	DryRun bool
	// Eager deletes the claim of which the acquirer knows nothing, so that a retry may charge. It is wrong wherever the first request may
	// still arrive, and here to be shown. Right it is only where Lease is longer than a request can last.
	Eager bool

	// FromOrder leaves rows of lesser orders alone. The lab's warm-ups have negative ones.
	FromOrder int64
	// OnlyOrder leaves all rows but those of one order alone; 0: none.
	OnlyOrder int64
	// AcquirerKey is Strategy.AcquirerKey; nil: the idempotency_key.
	AcquirerKey func(id int64, key string) string
	// Patience is the longest that the acquirer is waited for, each time; 0: ten seconds.
	Patience time.Duration
	// Each is told of each orphan as soon as it is dealt with. Optional.
	Each func(Orphan)
}

func (o *Options) check() error {
	switch {
	case o.Lease < 0 || o.Deadline < 0 || o.Patience < 0:
		return errors.New("reconcile: lease, deadline and patience cannot be negative")
	case o.Deadline > 0 && o.Deadline < o.Lease:
		return fmt.Errorf("reconcile: a deadline of %v is shorter than the lease of %v: what is still its worker's own cannot be closed", o.Deadline, o.Lease)
	case o.Eager && (o.Deadline > 0 || o.NothingUnderWay):
		return errors.New("reconcile: to delete at once what the acquirer does not know, and to close it, exclude each other")
	}
	if o.AcquirerKey == nil {
		o.AcquirerKey = func(_ int64, key string) string { return key }
	}
	if o.Patience == 0 {
		o.Patience = 10 * time.Second
	}
	return nil
}
