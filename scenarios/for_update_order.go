package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// ForUpdateOrder takes the pessimistic lock on a row that is there, the order's: article 1, section 4.
var ForUpdateOrder = Strategy{
	Name:  "for-update-order",
	Title: "lock the order's row with SELECT … FOR UPDATE; look, capture and insert under the lock",
	Text: `The lock is on a row that exists, so the attempts of one order go one by one, and at READ COMMITTED each looks at the table
as it is when its turn comes: it holds under a race. What it costs: the lock and a connection are held while the acquirer
takes its time, the duplicates wait instead of being told 409, and every other charge of the order waits with them.
It breaks in two ways. At REPEATABLE READ the look uses the snapshot that the transaction took before it waited, in which
the winner's charge is not there: all of them charge. At SERIALIZABLE likewise, but the losers' rows are refused
afterwards, with SQLSTATE 40001. And with one crash after the capture the rollback erases the only trace, and the retry
charges again: a lock says who is working, never what was done. Commit a claim before the call: insert-first.`,
	Never: append(neverInARace(MissingCharge, Orphan, AnsweredWithoutCharge),
		inARace(readCommitted, DoubleCharge, DivergentAnswers, ChargedWithoutRecord, ErrorToDuplicate)...),
	Shows: append(slices.Concat(
		inARace(snapshotLevels, DoubleCharge),
		inARace(repeatableRead, DivergentAnswers),
		inARace(serializable, ChargedWithoutRecord, ErrorToDuplicate)),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Without: []string{KeyConstraint},
	Prepare: orderExists,
	New:     func(Env) Handler { return forUpdateOrder },
}

func forUpdateOrder(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

	_, err = tx.Exec(ctx, `/* lock */
		SELECT id
		  FROM pedido
		 WHERE id = $1
		   FOR UPDATE`,
		req.OrderID) // the others wait here, each with a connection, until this one commits
	if err != nil {
		return Response{}, err
	}

	// At REPEATABLE READ the snapshot is the lock statement's, taken before its wait.
	known, err := repeat(tx.QueryRow(ctx, `/* check */
		SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1
		 ORDER BY id
		 LIMIT 1`,
		req.Key), req)
	if !errors.Is(err, pgx.ErrNoRows) {
		return known, err
	}

	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // the money may have moved, and the rollback leaves nothing that says so
	}

	out := outcomeOf(receipt)
	resp, err := out.first(tx.QueryRow(ctx, `/* insert */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, resposta_http, resposta_corpo)
		VALUES ($1, $2, $3, $4, $5, $6)
		RETURNING resposta_http, resposta_corpo::text`,
		req.Key, req.OrderID, req.AmountCents, out.status, out.http, out.body))
	if err != nil {
		return Response{}, err
	}
	return resp, tx.Commit(ctx)
}
