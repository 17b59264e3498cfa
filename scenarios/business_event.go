package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// BusinessEvent is InsertFirst with a second unique constraint, on what is being paid, that outlives the key: article 1, section 3, "Decida
// por quanto tempo a chave vale".
var BusinessEvent = Strategy{
	Name:  "business-event",
	Title: "insert-first, and a row for (order, instalment) that is claimed with the key and outlives it",
	Text: `A key has a lifetime, and a client that comes again a day later does not know it: its key is new again, and the customer pays
twice. So what is being paid is claimed in the same transaction as the key, under a constraint of its own, and that row is
never purged: it is small, and there is one for each charge, not for each try. It also answers the other question that a key
cannot: two requests with different keys (the browser's return and the webhook) for one and the same charge.
Its row holds no answer, only the key that was first. While that key's row is there, its answer is told again; when it is gone,
the acquirer is asked, and the answer is made from its receipt, the same bytes as ever. Nothing is stored twice, so whoever
finishes a charge (the worker, a reconciler) need not know of this table. Whoever gives up a claim by deleting it must: the
event would stay claimed, and a repeat be told "in progress" for ever.
The number of the instalment is the shop's, and what it names must be a charge, not an order (order-id-key): a second
instalment, or a new try after a refusal, is another event and has another number. The two rows are always claimed in the
same order, or two requests could each hold what the other waits for (SQLSTATE 40P01).`,
	Never: append(slices.Concat(
		neverInARace(DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		inARace(readCommitted, ErrorToDuplicate)),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
		Claim{Purge, nil, DoubleCharge},
		Claim{Purge, nil, DivergentAnswers},
		Claim{Purge, nil, AnsweredWithoutCharge},
		Claim{Purge, readCommitted, ErrorToDuplicate},
	),
	Shows: append(inARace(snapshotLevels, ErrorToDuplicate),
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, Orphan},
	),
	Needs:        []string{KeyConstraint},
	Installments: true,
	New:          func(Env) Handler { return businessEvent },
}

func businessEvent(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	mine, err := claimBoth(ctx, db, req)
	if err != nil {
		return Response{}, err
	}
	if !mine {
		var same bool
		known, err := repeat(andFirst(db.QueryRow(ctx, `/* read */
			SELECT EXISTS (SELECT FROM pagamento p
			                WHERE p.pedido_id = c.pedido_id
			                  AND p.parcela = $2
			                  AND p.idempotency_key = c.idempotency_key),
			       status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca c
			 WHERE idempotency_key = $1`,
			req.Key, req.Installment), &same), req)
		if err == nil && !same {
			return Response{Mismatched, 422, `{"title": "Idempotency-Key is already used"}`}, nil // for another charge of the order
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return known, err
		}
		return paidBefore(ctx, db, acq, req) // under another key, or under this one, which is gone
	}

	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // the money may have moved: PROCESSANDO stays
	}

	out := outcomeOf(receipt)
	resp, err := out.first(db.QueryRow(ctx, `/* record */
		UPDATE cobranca
		   SET status         = $2,
		       resposta_http  = $3,
		       resposta_corpo = $4
		 WHERE idempotency_key = $1
		RETURNING resposta_http, resposta_corpo::text`,
		req.Key, out.status, out.http, out.body))
	if errors.Is(err, pgx.ErrNoRows) { // somebody has deleted a claim whose worker lives: the event is still ours
		return asStored(ctx, db, out)
	}
	return resp, err
}

// claimBoth claims the key, then the event, or neither.
func claimBoth(ctx context.Context, db DB, req Request) (mine bool, err error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return false, err
	}
	defer tx.Rollback(ctx)

	key, err := tx.Exec(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING`,
		req.Key, req.OrderID, req.AmountCents)
	if err != nil || key.RowsAffected() == 0 {
		return false, err
	}
	event, err := tx.Exec(ctx, `/* event */
		INSERT INTO pagamento (pedido_id, parcela, idempotency_key, valor_centavos)
		VALUES ($1, $2, $3, $4)
		ON CONFLICT (pedido_id, parcela) DO NOTHING`,
		req.OrderID, req.Installment, req.Key, req.AmountCents)
	if err != nil || event.RowsAffected() == 0 {
		return false, err // the rollback gives the key back, too
	}
	return true, tx.Commit(ctx)
}

// paidBefore answers for an event that was claimed before: with what its key's row says, or, where that is gone, with what the acquirer
// does.
func paidBefore(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var first string
	known, err := repeat(andFirst(db.QueryRow(ctx, `/* paid-before */
		SELECT p.idempotency_key,
		       coalesce(c.status, 'PROCESSANDO'), p.pedido_id, p.valor_centavos, c.resposta_http, c.resposta_corpo::text
		  FROM pagamento p
		  LEFT JOIN cobranca c ON c.idempotency_key = p.idempotency_key
		 WHERE p.pedido_id = $1
		   AND p.parcela = $2`,
		req.OrderID, req.Installment), &first), req)
	if err != nil || known.Answer != InProgress {
		return known, err
	}
	receipt, found, err := acq.Find(ctx, first)
	if errors.Is(err, ErrCannotAsk) {
		return known, nil // nobody can say, now or later: the orphan stays one
	}
	if err != nil || !found {
		return known, err
	}
	resp, err := asStored(ctx, db, outcomeOf(receipt))
	resp.Answer = Replayed
	return resp, err
}

// asStored is the answer as the table would give it back.
func asStored(ctx context.Context, db DB, out outcome) (Response, error) {
	return out.first(db.QueryRow(ctx, `/* answer */
		SELECT $1::int, ($2::jsonb)::text`,
		out.http, out.body))
}
