package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// StoreNothing takes the claim for a lock: it is gone when the attempt is over. Article 1, section 3, "Resposta guardada".
var StoreNothing = Strategy{
	Name:  "store-nothing",
	Title: "insert-first, and the claim is deleted when the attempt is over, whatever came of it",
	Text: `The unique constraint is used as a lock: of attempts at the same time one gets it and the others are told 409, so that a test with
two clicks looks right. But nothing is left of the first attempt when it is over, and a retry is by its nature later: it finds
the key free and charges again. A key protects for as long as its row is there; an answer that is not stored cannot be told
again. Keep the row, with the answer in it: insert-first.`,
	Never: neverInARace(MissingCharge, Orphan, AnsweredWithoutCharge),
	Shows: append(slices.Concat(
		inARace(nil, DoubleCharge, ChargedWithoutRecord),
		inARace(snapshotLevels, ErrorToDuplicate)),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return storeNothing },
}

func storeNothing(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) {
		return orReleased(repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req))
	}
	if err != nil {
		return Response{}, err
	}

	receipt, err := acq.Capture(ctx, Charge(req))
	out := outcomeOf(receipt)
	// The danger: from here on nobody knows that there ever was a charge.
	_, released := db.Exec(ctx, `/* release */
		DELETE FROM cobranca
		 WHERE idempotency_key = $1`,
		req.Key)
	return Response{out.answer, out.http, out.body}, errors.Join(err, released)
}
