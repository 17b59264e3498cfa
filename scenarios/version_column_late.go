package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// VersionColumnLate is VersionColumn with the acquirer called before the version decides.
var VersionColumnLate = Strategy{
	Name:  "version-column-late",
	Title: "read the order's version, capture, then raise it and insert in one transaction",
	Text: `The raise and the row are one transaction, as they should be, and the version tells the loser that it has lost: after it has
charged. Optimistic locking means "do the work, and throw it away if somebody was quicker"; a capture cannot be thrown away.
One row, several captures, and no error anywhere, because the loser starts over, finds the winner's row and answers with
it. Optimism is for work that a rollback undoes. Decide first, then call: version-column, or insert-first.`,
	Never: neverInARace(MissingCharge, DivergentAnswers, Orphan, AnsweredWithoutCharge),
	Shows: append(inARace(nil, DoubleCharge, ChargedWithoutRecord),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Without: []string{KeyConstraint},
	Prepare: orderExists,
	New:     func(Env) Handler { return versionColumnLate },
}

func versionColumnLate(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	for try := 1; ; try++ {
		resp, err := chargeThenRaise(ctx, db, acq, req)
		moved := errors.Is(err, errVersionMoved) || refusedWith(err, serializationFailure)
		if !moved || try == mostTries {
			return resp, err
		}
	}
}

func chargeThenRaise(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var version int64
	err := db.QueryRow(ctx, `/* version */
		SELECT versao
		  FROM pedido
		 WHERE id = $1`,
		req.OrderID).Scan(&version)
	if err != nil {
		return Response{}, err
	}

	known, err := repeat(db.QueryRow(ctx, `/* check */
		SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1
		 ORDER BY id
		 LIMIT 1`,
		req.Key), req)
	if !errors.Is(err, pgx.ErrNoRows) {
		return known, err
	}

	// The danger: the effect is had before it is known whose it is.
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err
	}

	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

	raised, err := tx.Exec(ctx, `/* raise */
		UPDATE pedido
		   SET versao = versao + 1
		 WHERE id = $1
		   AND versao = $2`,
		req.OrderID, version)
	if err != nil {
		return Response{}, err
	}
	if raised.RowsAffected() == 0 {
		return Response{}, errVersionMoved // too late: the acquirer has been told
	}

	out := outcomeOf(receipt)
	resp, err := out.first(tx.QueryRow(ctx, `/* insert */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, resposta_http, resposta_corpo)
		VALUES ($1, $2, $3, $4, $5, $6)
		RETURNING resposta_http, resposta_corpo::text`,
		req.Key, req.OrderID, req.AmountCents, out.status, out.http, out.body))
	if err != nil {
		return Response{}, err
	}
	return resp, tx.Commit(ctx)
}
