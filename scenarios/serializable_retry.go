package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// SerializableRetry adds to SerializableCheck what every manual asks for: on 40001, the transaction again from its start.
var SerializableRetry = Strategy{
	Name:  "serializable-retry",
	Title: "look, capture and insert in one SERIALIZABLE transaction; on SQLSTATE 40001 run it once more",
	Text: `The rule for SERIALIZABLE is to run a refused transaction again, whole. That makes the error of serializable-check go away,
and with it the last sign that something is wrong: the loser runs again, finds the winner's row and gives its answer, and
what it charged in the first run stands at the acquirer and nowhere else. And where the second run begins before the winner
has become visible, it captures once more: there can be more charges than requests.
A transaction that may be run again must hold nothing but what a rollback undoes. Take the call out of it:
serializable-commit-first, or insert-first.`,
	Never: neverInARace(MissingCharge, DivergentAnswers, Orphan, AnsweredWithoutCharge),
	Shows: append(inARace(nil, DoubleCharge, ChargedWithoutRecord),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Without: []string{KeyConstraint},
	New:     func(Env) Handler { return serializableRetry },
}

func serializableRetry(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	for try := 1; ; try++ {
		resp, err := chargeSerializable(ctx, db, acq, req)
		if !refusedWith(err, serializationFailure) || try == mostTries {
			return resp, err
		}
		// The danger: what is run again here has a capture in it.
	}
}

func chargeSerializable(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
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
	return resp, tx.Commit(ctx)
}
