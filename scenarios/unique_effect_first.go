package scenarios

import "context"

// UniqueEffectFirst has the constraint, and charges before it is asked: article 1, section 4, "O efeito externo antes do registro".
var UniqueEffectFirst = Strategy{
	Name:  "unique-effect-first",
	Title: "capture, then insert under the unique constraint; a refused insert reads the stored answer",
	Text: `The constraint is there, it works, and it comes too late: when the second INSERT is refused, the acquirer has been told a
second time. It is the most deceptive of all: the table holds one row, every client gets the same answer, nothing is
logged as an error, and the customer paid once for each attempt. Only the acquirer's statement shows it, which is why
this lab counts captures and not rows. A look at the table before the capture would make it rarer, not right.
The same statements in the other order are right: insert-first.`,
	Never: neverInARace(DivergentAnswers, ErrorToDuplicate, MissingCharge, Orphan, AnsweredWithoutCharge),
	Shows: append(inARace(nil, DoubleCharge, ChargedWithoutRecord),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	New: func(Env) Handler { return uniqueEffectFirst },
}

func uniqueEffectFirst(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	// The danger: the effect comes before anything has decided whose it is.
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err
	}

	out := outcomeOf(receipt)
	resp, err := out.first(db.QueryRow(ctx, `/* insert */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, resposta_http, resposta_corpo)
		VALUES ($1, $2, $3, $4, $5, $6)
		RETURNING resposta_http, resposta_corpo::text`,
		req.Key, req.OrderID, req.AmountCents, out.status, out.http, out.body))
	if !refusedWith(err, uniqueViolation) {
		return resp, err
	}

	// Refused, and one row in the table: it looks as if nothing had happened.
	return repeat(db.QueryRow(ctx, `/* read */
		SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1`,
		req.Key), req)
}
