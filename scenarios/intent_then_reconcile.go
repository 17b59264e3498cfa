package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// IntentThenReconcile is the articles' full design: the intent is recorded, then the effect is had, then the record is made,
// and what was left half-way is reconciled with the acquirer: article 1, section 3, "Cuidados", and section 4.
var IntentThenReconcile = Strategy{
	Name:  "intent-then-reconcile",
	Title: "insert-first, and whoever finds PROCESSANDO asks the acquirer what became of it",
	Text: `insert-first leaves one thing open: a PROCESSANDO whose worker died after the money moved. The intent was written before the
effect, under the key that the acquirer knows, so it can be asked: did this go through? If it did, whoever asks records the
receipt and gives the answer, and the charge without a record is mended by the client's own retry; a job that goes over old
PROCESSANDO rows does the same for clients that never come back. It records only what the acquirer says has happened, so it
does no harm while the first worker lives: both write the same receipt.
If the acquirer does not know the key, nothing may be concluded: the request may be on its way. The answer stays 409, the
row stays PROCESSANDO, and an operator (or a deadline agreed with the acquirer, after which it refuses late requests)
closes it. Charging again is right only where the acquirer deduplicates: recovery-points. Like insert-first, run the intent
at READ COMMITTED.`,
	Never: append(slices.Concat(
		neverInARace(DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		inARace(readCommitted, ErrorToDuplicate)),
		Claim{Crash, nil, DoubleCharge},
		Claim{Crash, nil, ChargedWithoutRecord},
		Claim{LostReply, nil, DoubleCharge},
		Claim{LostReply, nil, ChargedWithoutRecord},
	),
	Shows: append(inARace(snapshotLevels, ErrorToDuplicate),
		Claim{Crash, nil, Orphan}, // the request that never was: only a deadline can close it
		Claim{LostReply, nil, Orphan},
	),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return intentThenReconcile },
}

func intentThenReconcile(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* intent */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) {
		known, err := repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req)
		if err != nil || known.Answer != InProgress {
			return known, err
		}
		return reconcile(ctx, db, acq, req, known)
	}
	if err != nil {
		return Response{}, err
	}

	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // unknown: the retry reconciles
	}

	// Not only where it is still PROCESSANDO: a reconciler that was quicker wrote the same.
	out := outcomeOf(receipt)
	for try := 1; ; try++ {
		resp, err := out.first(db.QueryRow(ctx, `/* record */
			UPDATE cobranca
			   SET status         = $2,
			       resposta_http  = $3,
			       resposta_corpo = $4
			 WHERE idempotency_key = $1
			RETURNING resposta_http, resposta_corpo::text`,
			req.Key, out.status, out.http, out.body))
		if !refusedWith(err, serializationFailure) || try == mostTries {
			return resp, err // the money has moved: a record that a reconciler got in the way of is made again
		}
	}
}

// reconcile asks the acquirer about a charge that is not finished, and records what it says.
func reconcile(ctx context.Context, db DB, acq Acquirer, req Request, unfinished Response) (Response, error) {
	receipt, found, err := acq.Find(ctx, req.Key)
	if errors.Is(err, ErrCannotAsk) {
		return unfinished, nil // nobody can say, now or later: the orphan stays one
	}
	if err != nil {
		return Response{}, err
	}
	if !found {
		return unfinished, nil // it may still be on its way: never a reason to charge
	}

	out := outcomeOf(receipt)
	_, err = db.Exec(ctx, `/* reconcile */
		UPDATE cobranca
		   SET status         = $2,
		       resposta_http  = $3,
		       resposta_corpo = $4
		 WHERE idempotency_key = $1
		   AND status = 'PROCESSANDO'`,
		req.Key, out.status, out.http, out.body)
	if err != nil && !refusedWith(err, serializationFailure) { // refused: somebody else has recorded it
		return Response{}, err
	}

	return repeat(db.QueryRow(ctx, `/* read-after */
		SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1`,
		req.Key), req)
}
