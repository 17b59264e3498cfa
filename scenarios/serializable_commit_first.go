package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// SerializableCommitFirst lets SERIALIZABLE decide who claims, and calls the acquirer when that is committed.
var SerializableCommitFirst = Strategy{
	Name:  "serializable-commit-first",
	Title: "look and claim in one SERIALIZABLE transaction, once more on SQLSTATE 40001; commit, then capture",
	Text: `The mend of serializable-retry, with the same look and the same retry: the transaction ends before the acquirer is called, so
what is run again holds nothing but rows. Of all transactions that looked for the same missing key, one commits; the others
are refused, run again and find the claim. It holds without a unique constraint.
But each duplicate is a refused transaction; while the winner's COMMIT is on its way to the disk, whoever runs again is
refused again, so that tries without a pause run out and end in an error; small tables, which are locked as a whole, refuse
strangers, too; and it holds only as long as every transaction that writes the table runs at SERIALIZABLE. A constraint asks
for none of that: insert-first.`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: []Claim{
		{Crash, nil, Orphan},
		{LostReply, nil, Orphan},
	},
	Without: []string{KeyConstraint},
	New:     func(Env) Handler { return serializableCommitFirst },
}

func serializableCommitFirst(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var claim int64
	for try := 1; claim == 0; try++ {
		known, id, err := claimSerializable(ctx, db, req)
		switch {
		case err == nil && id == 0:
			return known, nil
		case err == nil:
			claim = id
		case refusedWith(err, serializationFailure) && try < mostTries:
			// No money has moved: starting over costs nothing.
		default:
			return Response{}, err
		}
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
		 WHERE id = $1
		RETURNING resposta_http, resposta_corpo::text`,
		claim, out.status, out.http, out.body))
}

// claimSerializable returns the claim's id, or the answer to a key that is known already.
func claimSerializable(ctx context.Context, db DB, req Request) (known Response, claim int64, err error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	if err != nil {
		return Response{}, 0, err
	}
	defer tx.Rollback(ctx)

	known, err = repeat(tx.QueryRow(ctx, `/* check */
		SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1
		 ORDER BY id
		 LIMIT 1`,
		req.Key), req)
	if !errors.Is(err, pgx.ErrNoRows) {
		return known, 0, err
	}

	err = tx.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&claim)
	if err != nil {
		return Response{}, 0, err
	}
	return Response{}, claim, tx.Commit(ctx) // before the call: who is refused here has charged nothing
}
