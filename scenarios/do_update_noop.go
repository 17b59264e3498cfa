package scenarios

import (
	"context"
	"slices"
)

// DoUpdateNoop makes ON CONFLICT return the row by updating it to what it is.
var DoUpdateNoop = Strategy{
	Name:  "do-update-noop",
	Title: "claim, or else read, with INSERT … ON CONFLICT DO UPDATE that changes nothing",
	Text: `The other way to one round trip, and unlike cte-get-or-create it always returns the row: DO UPDATE locks the row that is
there, in its newest version, and xmax tells whether it was inserted just now. At READ COMMITTED it holds.
The price: "changes nothing" is a write all the same. Each duplicate takes a transaction id, locks the row, leaves a dead
version and fires the triggers; a hot key then costs many times what a refusal costs. And at REPEATABLE READ and
SERIALIZABLE the duplicates' writes collide with the winner's own: if one gets between its capture and its record, the
record fails with SQLSTATE 40001 and PROCESSANDO stays although the money moved. DO NOTHING, then read: insert-first.`,
	Never: append(slices.Concat(
		neverInARace(DoubleCharge, MissingCharge, DivergentAnswers, AnsweredWithoutCharge),
		inARace(readCommitted, Orphan, ChargedWithoutRecord, ErrorToDuplicate)),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: append(inARace(snapshotLevels, ErrorToDuplicate),
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, Orphan},
	),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return doUpdateNoop },
}

func doUpdateNoop(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var created bool
	known, err := repeat(andFirst(db.QueryRow(ctx, `/* claim-or-read */
		INSERT INTO cobranca AS c (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO UPDATE
		   SET idempotency_key = EXCLUDED.idempotency_key
		RETURNING xmax = 0, c.status, c.pedido_id, c.valor_centavos, c.resposta_http, c.resposta_corpo::text`,
		req.Key, req.OrderID, req.AmountCents), &created), req)
	if err != nil || !created { // xmax = 0: no version before this one, so the row is new
		return known, err
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
