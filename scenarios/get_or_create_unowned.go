package scenarios

import (
	"context"
	"slices"
)

// GetOrCreateUnowned goes on with whatever is not finished, whoever began it.
var GetOrCreateUnowned = Strategy{
	Name:  "get-or-create-unowned",
	Title: "insert the key unless it is there; if the charge is not finished, go on with it; capture, record",
	Text: `The constraint sees to it that there is one row, and the row says "not finished": which every attempt takes for a reason to
finish it. Nobody owns the work. Two attempts at the same time are one row and two captures, and the second record
overwrites the first, so that the clients hold different receipts. It is often written with crashes in mind, since a retry
picks up what was left: but it cannot tell a worker that died from one that is waiting for the acquirer, and even after a
crash it charges again if the money had moved.
A claim must have an owner: whoever inserted it works, everybody else waits or is told 409 (insert-first). To pick up what
a crash left, ask the acquirer first (intent-then-reconcile), or give the acquirer a key to deduplicate by (recovery-points).`,
	Never: neverInARace(MissingCharge, Orphan, AnsweredWithoutCharge),
	Shows: append(slices.Concat(
		inARace(nil, DoubleCharge, ChargedWithoutRecord),
		inARace(readCommitted, DivergentAnswers),
		inARace(snapshotLevels, ErrorToDuplicate)),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return getOrCreateUnowned },
}

func getOrCreateUnowned(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	_, err := db.Exec(ctx, `/* create */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING`,
		req.Key, req.OrderID, req.AmountCents)
	if err != nil {
		return Response{}, err
	}

	known, err := repeat(db.QueryRow(ctx, `/* get */
		SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1`,
		req.Key), req)
	if err != nil || known.Answer != InProgress {
		return known, err
	}

	// The danger: "not finished" is true for everybody who looks, and says to none of them whose turn it is.
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err
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
