package scenarios

import "context"

// Merge claims the key with the SQL standard's upsert, which promises less than PostgreSQL's own.
var Merge = Strategy{
	Name:  "merge",
	Title: "claim the key with MERGE … WHEN NOT MATCHED THEN INSERT, then capture",
	Text: `MERGE decides by its snapshot whether there is a match, and then inserts like any INSERT: against a rival that is not
committed yet it waits at the unique constraint and is refused with SQLSTATE 23505. So nobody is charged twice, which is
the constraint's doing and not MERGE's (without the constraint it is insert-where-not-exists again), but a duplicate that
came at the wrong moment is told of an error, and its client, or the queue's redelivery, tries on. PostgreSQL's manual
says so: where concurrent inserts are possible, ON CONFLICT is the statement that promises an outcome. Use insert-first.`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: append(inARace(nil, ErrorToDuplicate),
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, Orphan},
	),
	MinServer: 15,
	New:       func(Env) Handler { return merge },
}

func merge(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	tag, err := db.Exec(ctx, `/* claim */
		MERGE INTO cobranca c
		USING (VALUES ($1::text, $2::bigint, $3::bigint)) AS novo (idempotency_key, pedido_id, valor_centavos)
		   ON c.idempotency_key = novo.idempotency_key
		 WHEN NOT MATCHED THEN
		      INSERT (idempotency_key, pedido_id, valor_centavos, status)
		      VALUES (novo.idempotency_key, novo.pedido_id, novo.valor_centavos, 'PROCESSANDO')`,
		req.Key, req.OrderID, req.AmountCents)
	if err != nil {
		return Response{}, err // 23505 where a rival was quicker: MERGE has no word for that
	}

	if tag.RowsAffected() == 0 { // matched: somebody else has the key
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req)
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
