package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// KeyPerDoor goes by the key, and only by it: article 1, section 4, "A chave resolve o caso em que a decisão cabe numa chave".
var KeyPerDoor = Strategy{
	Name:  "key-per-door",
	Title: "insert-first: claim the key of whoever asks, commit, then capture",
	Text: `Everything is as it should be with the key: made by whoever asks, kept over the retries, claimed under a unique constraint
before the effect. But two ask for the same charge without knowing of each other, each with a key of its own, and the constraint
has nothing to refuse: the customer pays twice. A key says "this is the same request"; whether two requests are about the same
thing it cannot say. That takes a constraint on the thing: a key made of it (event-key), the order's own state (order-state), or
a row for it beside the key's (business-event, of the scenario charge).`,
	Never: slices.Concat(
		neverInARace(MissingCharge, AnsweredWithoutCharge),
		inARace(withoutConflicts, Orphan, ChargedWithoutRecord),
		inARace(readCommitted, ErrorToDuplicate)),
	Shows: append(inARace(nil, DoubleCharge, DivergentAnswers),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return keyPerDoor },
}

func keyPerDoor(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id) // the danger: nobody but this very door has this key

	if errors.Is(err, pgx.ErrNoRows) {
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req)
	}
	if err != nil {
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
