package consume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"idemlab/scenarios"
)

// reconciled is what became of an order's orphans.
type reconciled struct {
	Recorded int // the acquirer knew of the charge
	Released int // it knew of none
}

// orphan is a claim that nobody works on.
type orphan struct {
	ID  int64
	Key string
}

// reconcile ends the claims of an order that have no answer and are older than age. The acquirer is asked what became of each. Where it
// knows, its receipt is entered: that does no harm even while the first worker lives, who will enter the same. Where it does not know,
// the claim is taken away, and the charge may be asked for again. That is right only because of the age: no attempt lasts so long, so
// that no request of the one that died can still be on its way. A consumer that had only slept, and comes back later than that, would
// charge again; against it there is no remedy but an acquirer that deduplicates.
func reconcile(ctx context.Context, db *pgxpool.Pool, acq scenarios.Acquirer, order int64, age time.Duration) (did reconciled, err error) {
	rows, err := db.Query(ctx, `/* orphans */
		SELECT id, idempotency_key
		  FROM cobranca
		 WHERE pedido_id = $1
		   AND status = 'PROCESSANDO'
		   AND criada_em < clock_timestamp() - $2::interval
		 ORDER BY id`,
		order, age)
	if err != nil {
		return did, fmt.Errorf("look for orphans of order %d: %w", order, err)
	}
	orphans, err := pgx.CollectRows(rows, pgx.RowToStructByPos[orphan])
	if err != nil {
		return did, fmt.Errorf("look for orphans of order %d: %w", order, err)
	}
	for _, o := range orphans {
		receipt, found, err := acq.Find(ctx, o.Key)
		if errors.Is(err, scenarios.ErrCannotAsk) {
			continue // which is not "none": it stays
		}
		if err != nil {
			return did, err
		}
		if !found {
			gone, err := db.Exec(ctx, `/* release */
				DELETE FROM cobranca
				 WHERE id = $1
				   AND status = 'PROCESSANDO'`,
				o.ID)
			if err != nil {
				return did, fmt.Errorf("release orphan %d: %w", o.ID, err)
			}
			did.Released += int(gone.RowsAffected())
			continue
		}
		status, http, body := scenarios.Recorded(receipt)
		entered, err := db.Exec(ctx, `/* reconcile */
			UPDATE cobranca
			   SET status         = $2,
			       resposta_http  = $3,
			       resposta_corpo = $4
			 WHERE id = $1
			   AND status = 'PROCESSANDO'`,
			o.ID, status, http, body)
		if err != nil {
			return did, fmt.Errorf("record orphan %d: %w", o.ID, err)
		}
		did.Recorded += int(entered.RowsAffected())
	}
	return did, nil
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
