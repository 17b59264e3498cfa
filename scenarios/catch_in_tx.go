package scenarios

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// CatchInTx handles the unique violation where it cannot be handled: inside the transaction that it has just broken.
var CatchInTx = Strategy{
	Name:  "catch-in-tx",
	Title: "claim in a transaction, handle the unique violation inside it, then capture",
	Text: `What an ORM's unit of work invites to: the INSERT fails with SQLSTATE 23505, the code catches it and reads the row, all in
one transaction. But after an error PostgreSQL answers every further statement of that transaction with 25P02, and a COMMIT
with a silent ROLLBACK. Nobody is charged twice; every duplicate, also the polite one a day later, gets a 5xx, and a client
that gets a 5xx tries again. Leave the error to the statement's own transaction (insert-first-catch), set a savepoint in
front of it (catch-in-savepoint), or do not raise it at all (insert-first).`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: append(inARace(nil, ErrorToDuplicate),
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, Orphan},
	),
	New: func(Env) Handler { return catchInTx },
}

func catchInTx(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

	_, err = tx.Exec(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')`,
		req.Key, req.OrderID, req.AmountCents)

	if refusedWith(err, uniqueViolation) {
		// The danger: the error is handled, the transaction is not. This statement cannot succeed.
		return repeat(tx.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req)
	}
	if err != nil {
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
