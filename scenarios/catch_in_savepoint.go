package scenarios

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// CatchInSavepoint is CatchInTx mended: a savepoint takes the error, and the transaction goes on.
var CatchInSavepoint = Strategy{
	Name:  "catch-in-savepoint",
	Title: "claim behind a savepoint, handle the unique violation after rolling back to it, then capture",
	Text: `The mend of catch-in-tx: a savepoint before the INSERT. Going back to it undoes the failed statement alone, and the same
transaction may read on. At READ COMMITTED the read takes a new snapshot and finds the row that won.
At REPEATABLE READ and SERIALIZABLE it does not: the whole transaction reads with the snapshot of its first statement, in
which the winner's row is not there yet. The INSERT says duplicate, the SELECT says nothing, both are right, and the
request ends in an error. And each refusal costs a subtransaction and a dead row. insert-first needs none of it.`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Race, readCommitted, ErrorToDuplicate},
		Claim{Instances, readCommitted, ErrorToDuplicate},
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: append(inARace(snapshotLevels, ErrorToDuplicate),
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, Orphan},
	),
	New: func(Env) Handler { return catchInSavepoint },
}

func catchInSavepoint(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

	savepoint, err := tx.Begin(ctx) // SAVEPOINT
	if err != nil {
		return Response{}, err
	}
	_, err = savepoint.Exec(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')`,
		req.Key, req.OrderID, req.AmountCents)

	if refusedWith(err, uniqueViolation) {
		if err := savepoint.Rollback(ctx); err != nil { // ROLLBACK TO SAVEPOINT: the transaction is whole again
			return Response{}, err
		}
		return repeat(tx.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req)
	}
	if err != nil {
		return Response{}, err
	}
	if err := savepoint.Commit(ctx); err != nil { // RELEASE SAVEPOINT
		return Response{}, err
	}
	if err := tx.Commit(ctx); err != nil {
		return Response{}, err
	}

	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // the money may have moved: PROCESSANDO stays
	}

	out := outcomeOf(receipt)
	return out.first(db.QueryRow(ctx, `/* record */
		UPDATE cobranca
		   SET status         = $2,
		       resposta_http  = $3,
		       resposta_corpo = $4
		 WHERE idempotency_key = $1
		RETURNING resposta_http, resposta_corpo::text`,
		req.Key, out.status, out.http, out.body))
}
