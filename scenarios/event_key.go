package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// EventKey makes the key out of what is being paid, so that every door has the same.
var EventKey = Strategy{
	Name:  "event-key",
	Title: "insert-first with a key made of the order and the instalment, whatever key the door has",
	Text: `Both doors know the order, and which of its charges it is: so the server makes the key of that, and the two requests meet at the
constraint. It is order-id-key with the instalment in it, and that is the difference: the second instalment, or a new try after
a refusal, has another number and another key. The acquirer is given this key, too, so that it can deduplicate and be asked.
It needs a number that all doors agree on. Where one of them cannot know it, let the order's state decide (order-state).`,
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
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return eventKey },
}

func eventKey(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	req.Key = fmt.Sprintf("pedido-%d-parcela-%d", req.OrderID, req.Installment)

	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id)

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
