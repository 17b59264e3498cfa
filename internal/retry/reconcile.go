package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/intents"
	"idemlab/scenarios"
)

// settled is what became of an orphan.
type settled struct {
	orderID int64
	receipt scenarios.Receipt
	closed  bool  // the acquirer knows nothing of it
	left    error // nothing was done: why nobody can be asked
	status  string
}

// reconcile goes over the table once: what has been PROCESSANDO for longer than the lease is asked about at the acquirer and finished
// as its worker would have finished it. What the acquirer does not know is left, since it may be on its way; unless nothing can be
// on its way any more, and then it is closed as refused. What cannot be asked about is left as well, for ever: nothing under way does not
// mean that nothing has arrived. It charges nobody.
func reconcile(ctx context.Context, conn *pgx.Conn, acq scenarios.Acquirer, lease time.Duration, nothingUnderWay bool) (changed []settled, err error) {
	rows, err := conn.Query(ctx, `/* orphans */
		SELECT id, idempotency_key, pedido_id
		  FROM cobranca
		 WHERE status = 'PROCESSANDO'
		   AND pedido_id >= $1
		   AND criada_em <= clock_timestamp() - make_interval(secs => $2)
		 ORDER BY id`, intents.FirstOrder, lease.Seconds())
	if err != nil {
		return nil, fmt.Errorf("look for orphans: %w", err)
	}
	type orphan struct {
		ID      int64
		Key     string
		OrderID int64
	}
	orphans, err := pgx.CollectRows(rows, pgx.RowToStructByPos[orphan])
	if err != nil {
		return nil, fmt.Errorf("look for orphans: %w", err)
	}
	for _, o := range orphans {
		receipt, found, err := find(ctx, acq, o.ID, o.Key)
		if errors.Is(err, scenarios.ErrCannotAsk) {
			changed = append(changed, settled{orderID: o.OrderID, left: err})
			continue
		}
		if err != nil {
			return changed, fmt.Errorf("ask the acquirer about order %d: %w", o.OrderID, err)
		}
		if !found && !nothingUnderWay {
			continue
		}
		s := settled{orderID: o.OrderID, receipt: receipt, closed: !found}
		var http int
		var body string
		s.status, http, body = scenarios.Recorded(receipt)
		// The condition makes it safe beside a worker that was taken for dead: what that one wrote stands.
		tag, err := conn.Exec(ctx, `/* finish */
			UPDATE cobranca
			   SET status = $2, resposta_http = $3, resposta_corpo = $4
			 WHERE id = $1
			   AND status = 'PROCESSANDO'`, o.ID, s.status, http, body)
		if err != nil {
			return changed, fmt.Errorf("finish order %d: %w", o.OrderID, err)
		}
		if tag.RowsAffected() > 0 {
			changed = append(changed, s)
		}
	}
	return changed, nil
}

// find asks under the keys by which strategies send a row's charge: the idempotency key, or one made of the row's id (recovery-points).
func find(ctx context.Context, acq scenarios.Acquirer, id int64, key string) (receipt scenarios.Receipt, found bool, err error) {
	for _, k := range []string{key, fmt.Sprintf("cobranca-%d", id)} {
		if receipt, found, err = acq.Find(ctx, k); found || err != nil {
			break
		}
	}
	return receipt, found, err
}
