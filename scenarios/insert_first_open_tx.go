package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// InsertFirstOpenTx is InsertFirst with the acquirer called inside the open transaction: article 1, section 3, "Cuidados".
var InsertFirstOpenTx = Strategy{
	Name:  "insert-first-open-tx",
	Title: "claim, capture and record in one open transaction",
	Text: `One transaction looks tidier, and under a race it still charges once. But the claim is not committed when the acquirer is
called, so PostgreSQL cannot refuse a duplicate yet: the duplicate waits, holding its connection, for as long as the
acquirer takes. The client never sees 409; under load the pool runs dry and unrelated requests stop.
And it does not survive a crash: the rollback erases the only trace of a charge that has happened, and the retry charges
again. Commit the claim before the call: insert-first.`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Race, readCommitted, ErrorToDuplicate},
		Claim{Instances, readCommitted, ErrorToDuplicate},
	),
	Shows: []Claim{
		{Race, snapshotLevels, ErrorToDuplicate},
		{Instances, snapshotLevels, ErrorToDuplicate},
		{Crash, nil, DoubleCharge},
		{LostReply, nil, DoubleCharge},
	},
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return insertFirstOpenTx },
}

func insertFirstOpenTx(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx) // after Commit it has nothing to do; before it, the error that led here is the news

	var id int64
	err = tx.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id) // a duplicate waits here for the first attempt's whole transaction

	var resp Response
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		resp, err = repeat(tx.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req)
	case err == nil:
		// The danger: a row lock and a connection are held for as long as somebody else's server takes to answer.
		var receipt Receipt
		if receipt, err = acq.Capture(ctx, Charge(req)); err != nil {
			return Response{}, err // the rollback takes PROCESSANDO with it, though the money may have moved
		}
		out := outcomeOf(receipt)
		resp, err = out.first(tx.QueryRow(ctx, `/* record */
			UPDATE cobranca
			   SET status         = $2,
			       resposta_http  = $3,
			       resposta_corpo = $4
			 WHERE idempotency_key = $1
			RETURNING resposta_http, resposta_corpo::text`,
			req.Key, out.status, out.http, out.body))
	}
	if err != nil {
		return Response{}, err
	}
	return resp, tx.Commit(ctx)
}
