package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// StoreSuccessOnly is InsertFirst that keeps its claim only where the charge went through: article 1, section 3, "Decida se erro também
// fica guardado".
var StoreSuccessOnly = Strategy{
	Name:  "store-success-only",
	Title: "insert-first, and the claim is deleted again unless the charge was approved",
	Text: `"An error should not block the key": so after a refusal, and after an error, the claim is deleted and the retry runs anew. After a
refusal that is a matter of contract: the same key may be refused today and approved tomorrow, and each answer is another. After
an error it is the fault that all of this is about. An acquirer that answers 500, or not at all, has not said that nothing
happened; whoever deletes the claim then says so in its place, and the retry charges again.
Delete a claim only where it is certain that the acquirer was never asked. Leave PROCESSANDO where it is not, and reconcile:
insert-first, intent-then-reconcile.`,
	Never: append(neverInARace(DoubleCharge, MissingCharge, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Race, readCommitted, ErrorToDuplicate},
		Claim{Instances, readCommitted, ErrorToDuplicate},
		Claim{Crash, nil, DoubleCharge},
	),
	Shows: append(inARace(snapshotLevels, ErrorToDuplicate),
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, DoubleCharge},
	),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return storeSuccessOnly },
}

func storeSuccessOnly(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) {
		return orReleased(repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req))
	}
	if err != nil {
		return Response{}, err
	}

	receipt, err := acq.Capture(ctx, Charge(req))
	out := outcomeOf(receipt)
	if err != nil || !receipt.Approved {
		// The danger: an error is taken for "nothing happened".
		_, released := db.Exec(ctx, `/* release */
			DELETE FROM cobranca
			 WHERE idempotency_key = $1
			   AND status = 'PROCESSANDO'`,
			req.Key)
		return Response{out.answer, out.http, out.body}, errors.Join(err, released)
	}

	return out.first(db.QueryRow(ctx, `/* record */
		UPDATE cobranca
		   SET status         = $2,
		       resposta_http  = $3,
		       resposta_corpo = $4
		 WHERE idempotency_key = $1
		RETURNING resposta_http, resposta_corpo::text`,
		req.Key, out.status, out.http, out.body))
}

// orReleased answers where the claim that was in the way is gone again: whoever comes now may have it.
func orReleased(known Response, err error) (Response, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return Response{InProgress, 409, `{"title": "A request was outstanding for this Idempotency-Key: try again"}`}, nil
	}
	return known, err
}
