package consume

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"idemlab/internal/recovery"
	"idemlab/scenarios"
)

// reconciled is what became of an order's orphans.
type reconciled struct {
	Recorded int // the acquirer knew of the charge
	Released int // it knew of none
}

// reconcile ends the claims of an order that have no answer and are older than the lease. The acquirer is asked what became of each. Where it
// knows, its receipt is entered: that does no harm even while the first worker lives, who will enter the same. Where it does not know,
// the claim is taken away, and the charge may be asked for again. That is right only because of the age: no attempt lasts so long, so
// that no request of the one that died can still be on its way. A consumer that had only slept, and comes back later than that, would
// charge again; against it there is no remedy but an acquirer that deduplicates.
//
// It is internal/recovery's reconciler in its eager form, for one order: a queue has nobody who would come back later for a claim that
// was closed as refused, and a claim that is left is a message that comes again and again.
func reconcile(ctx context.Context, db *pgxpool.Pool, acq scenarios.Acquirer, o recovery.Options) (did reconciled, err error) {
	o.Eager = true
	report, err := recovery.Reconcile(ctx, db, acq, o)
	for _, orphan := range report.Orphans {
		switch orphan.Fate {
		case recovery.Captured, recovery.Declined:
			did.Recorded++
		case recovery.Deleted:
			did.Released++
		case recovery.Unreachable:
			if orphan.CannotAsk {
				continue // which is not "none": it stays
			}
			// Without the acquirer there is no run: no message could be charged either.
			err = errors.Join(err, fmt.Errorf("ask about orphan %d of order %d: %s", orphan.ID, orphan.OrderID, orphan.Reason))
		}
	}
	return did, err
}

// orphanPool is the one connection that a consumer looks for orphans on, made when it is first wanted. It is no attempt's: it runs at
// READ COMMITTED, whatever theirs do, to see what has been recorded by now.
func orphanPool(ctx context.Context, cfg *pgx.ConnConfig) (*pgxpool.Pool, error) {
	pc, err := pgxpool.ParseConfig("")
	if err != nil {
		return nil, fmt.Errorf("prepare the pool for orphans: %w", err)
	}
	pc.ConnConfig, pc.MaxConns = cfg, 1
	cfg.RuntimeParams["default_transaction_isolation"] = string(pgx.ReadCommitted)
	pool, err := pgxpool.NewWithConfig(ctx, pc)
	if err != nil {
		return nil, fmt.Errorf("open the pool for orphans: %w", err)
	}
	return pool, nil
}
