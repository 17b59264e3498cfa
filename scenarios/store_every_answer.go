package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// StoreEveryAnswer is InsertFirst that stores errors, too: article 1, section 3, "Decida se erro também fica guardado".
var StoreEveryAnswer = Strategy{
	Name:  "store-every-answer",
	Title: "insert-first, and what the client is told is stored whatever it is, a 5xx too",
	Text: `Once the charge has begun, whatever the client is told is stored, an error as well, and every retry is told the same: so Stripe's
first API does it. It never charges twice under one key, and no retry runs into a half-finished charge. But an error that
would have passed in a second is now for ever: the client can only take a fresh key, and that is a new wish to pay. Where the
error came after the money had moved, the customer pays twice, and the contract said he should.
The status stays PROCESSANDO, since nobody knows: a reconciler can still ask the acquirer and put the truth in the error's
place, after which a retry is told that. Where answers are stored only when they are final, and an unknown outcome is
reconciled before anybody takes a fresh key, neither happens: insert-first, intent-then-reconcile.`,
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
	New:   func(Env) Handler { return storeEveryAnswer },
}

func storeEveryAnswer(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) {
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT CASE WHEN resposta_http IS NULL THEN status ELSE 'RESPONDIDA' END, -- answered, whatever the status
			       pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req)
	}
	if err != nil {
		return Response{}, err
	}

	receipt, err := acq.Capture(ctx, Charge(req))
	if errors.Is(err, ErrOutcomeUnknown) {
		// The danger: what nobody knows becomes what everybody is told.
		out := outcome{Failed, "PROCESSANDO", 502, `{"title": "The acquirer did not answer"}`}
		return out.first(db.QueryRow(ctx, `/* record-error */
			UPDATE cobranca
			   SET resposta_http  = $2,
			       resposta_corpo = $3
			 WHERE idempotency_key = $1
			RETURNING resposta_http, resposta_corpo::text`,
			req.Key, out.http, out.body))
	}
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
