package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// SerializableCheck is check-then-act in one SERIALIZABLE transaction.
var SerializableCheck = Strategy{
	Name:  "serializable-check",
	Title: "look, capture and insert in one SERIALIZABLE transaction",
	Text: `SERIALIZABLE promises that the committed transactions could have run one after another, and keeps the promise: of the rows
one remains, and the others' transactions fail with SQLSTATE 40001. It promises nothing of what was done outside, and it
decides at the end: each loser has charged by the time it is refused, is rolled back, and is told of an error, which sends
its client to try again. The table is clean; the customer paid once for each attempt.
A level protects rows. Commit the decision before the call (serializable-commit-first), or let a constraint decide
(insert-first).`,
	Never: neverInARace(MissingCharge, DivergentAnswers, Orphan, AnsweredWithoutCharge),
	Shows: append(inARace(nil, DoubleCharge, ChargedWithoutRecord, ErrorToDuplicate),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Without: []string{KeyConstraint},
	New:     func(Env) Handler { return serializableCheck },
}

func serializableCheck(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

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

	// The danger: the transaction is not decided yet, and this cannot be rolled back.
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err
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
	return resp, tx.Commit(ctx) // 40001 comes here, or one statement earlier
}
