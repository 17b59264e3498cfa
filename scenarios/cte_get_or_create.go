package scenarios

import "context"

// CTEGetOrCreate claims and reads in one statement: the popular "get or create in one round trip".
var CTEGetOrCreate = Strategy{
	Name:  "cte-get-or-create",
	Title: "claim, or else read, in one statement: WITH … INSERT … ON CONFLICT … UNION ALL SELECT",
	Text: `The guarantee is insert-first's, and the round trip that it saves is paid for by whoever comes at the same time: all parts of
one statement read with one snapshot. Its INSERT waits for the rival and inserts nothing; its SELECT looks with the
snapshot from before the wait, in which the rival's row is not there. So an overlapped duplicate gets no row at all, which
the code has no case for. One after another it always works, and so do its tests.
Read in a second statement, which has a snapshot of its own: insert-first.`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: append(inARace(nil, ErrorToDuplicate),
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, Orphan},
	),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return cteGetOrCreate },
}

func cteGetOrCreate(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var created bool
	known, err := repeat(andFirst(db.QueryRow(ctx, `/* claim-or-read */
		WITH nova AS (
			INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
			VALUES ($1, $2, $3, 'PROCESSANDO')
			ON CONFLICT (idempotency_key) DO NOTHING
			RETURNING status, pedido_id, valor_centavos, resposta_http, resposta_corpo
		)
		SELECT true, status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM nova
		UNION ALL
		SELECT false, status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1`,
		req.Key, req.OrderID, req.AmountCents), &created), req)
	if err != nil || !created {
		return known, err // no row: pgx.ErrNoRows, and a client that is told of an error
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
