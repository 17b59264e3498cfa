package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// AdvisoryXact takes an advisory lock on the key, which needs no row, for the length of a transaction.
var AdvisoryXact = Strategy{
	Name:  "advisory-xact",
	Title: "take pg_advisory_xact_lock on the key; look, capture and insert under it, in one transaction",
	Text: `An advisory lock is on a number, not on a row, so it also locks what is not there yet, and it ends with the transaction by
itself. At READ COMMITTED it holds under a race: whoever gets the lock looks with a new snapshot. At REPEATABLE READ the
snapshot is that of the statement that waited for the lock, older than the winner's commit: all of them charge. At
SERIALIZABLE, too, and the losers' rows are refused afterwards, with SQLSTATE 40001.
Like every lock that is held during the call it makes duplicates wait, each with a connection; and after one crash the lock
is gone, the transaction is gone, the money is not, and the retry charges again. Commit a claim before the call:
insert-first.`,
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
	New:     func(Env) Handler { return advisoryXact },
}

func advisoryXact(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

	// Two keys with the same hash only wait for one another.
	_, err = tx.Exec(ctx, `/* lock */
		SELECT pg_advisory_xact_lock(hashtextextended($1, 0))`,
		req.Key)
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
