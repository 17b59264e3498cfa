package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// OrderState lets the order decide: whoever takes it from PENDENTE charges.
var OrderState = Strategy{
	Name:  "order-state",
	Title: "UPDATE pedido SET estado = 'PAGANDO' WHERE estado = 'PENDENTE' and the claim in one statement, then capture",
	Text: `The order knows whether it is paid, whoever asks and with whatever key. Looking it up first would be check-then-act; the
condition in the UPDATE looks and writes at once, and of two at the same time the second waits for the first one's commit and
then finds PAGANDO (at READ COMMITTED; at higher levels it gets SQLSTATE 40001). In the same statement the claim is written, so
that a worker that dies leaves a PROCESSANDO by which the acquirer can be asked.
It lets an order be paid once: for instalments each needs a state of its own. And who puts a refused order back to PENDENTE, and
when, is for the shop to decide.`,
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
	Prepare: orderExists,
	New:     func(Env) Handler { return orderState },
}

func orderState(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* take */
		WITH tomado AS (
			UPDATE pedido
			   SET estado = 'PAGANDO'
			 WHERE id = $2
			   AND estado = 'PENDENTE'
			RETURNING id)
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		SELECT $1, id, $3, 'PROCESSANDO'
		  FROM tomado
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) { // it was not PENDENTE any more
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE pedido_id = $1`,
			req.OrderID), req)
	}
	if err != nil {
		return Response{}, err
	}

	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // the money may have moved: PAGANDO and PROCESSANDO stay
	}

	out := outcomeOf(receipt)
	return out.first(db.QueryRow(ctx, `/* record */
		WITH pago AS (
			UPDATE pedido
			   SET estado = $2
			 WHERE id = $5)
		UPDATE cobranca
		   SET status         = $2,
		       resposta_http  = $3,
		       resposta_corpo = $4
		 WHERE id = $1
		RETURNING resposta_http, resposta_corpo::text`,
		id, out.status, out.http, out.body, req.OrderID))
}
