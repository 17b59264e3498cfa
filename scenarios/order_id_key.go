package scenarios

import (
	"context"
	"errors"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// OrderIDKey is InsertFirst with the order's id for a key: article 1, section 3, "Chave de idempotência".
var OrderIDKey = Strategy{
	Name:  "order-id-key",
	Title: "insert-first with the order's id as the key",
	Text: `No client has to send a key, the order has one already: and no order can ever be charged again. Against retries it holds.
But a second instalment, a charge for what was added later, a new try after a refusal: each is another wish to pay of the
same order, and each is answered with the first one's answer. The customer sees "paid", no money moves, and nobody is told.
The id of an order is a key only where an order is charged exactly once by its nature. A key names one wish to pay; it is
made by whoever has the wish: insert-first.`,
	Never: append(neverInARace(
		DoubleCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Race, readCommitted, ErrorToDuplicate},
		Claim{Instances, readCommitted, ErrorToDuplicate},
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: append(append(inARace(nil, MissingCharge), inARace(snapshotLevels, ErrorToDuplicate)...),
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, Orphan},
	),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return orderIDKey },
}

func orderIDKey(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	// The danger: two wishes to pay, one key. What the client sent in req.Key would have told them apart.
	key := strconv.FormatInt(req.OrderID, 10)

	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) {
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			key), req)
	}
	if err != nil {
		return Response{}, err
	}

	receipt, err := acq.Capture(ctx, Charge{Key: key, OrderID: req.OrderID, AmountCents: req.AmountCents})
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
		key, out.status, out.http, out.body))
}
