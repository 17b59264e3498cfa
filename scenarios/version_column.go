package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// VersionColumn is optimistic locking on the order's row, done right: article 1, section 4.
var VersionColumn = Strategy{
	Name:  "version-column",
	Title: "raise the order's version and insert the claim in one transaction, commit, then capture",
	Text: `Nobody waits for the acquirer: each attempt reads the order's version, looks for the key, and raises the version only if it
is still what it read. Of two that read the same version one raises it; the other gets 0 rows (or SQLSTATE 40001 above READ
COMMITTED), starts over, and then finds the claim. Three things make it hold, and its two wrong twins each lack one: the
version is read before the look, the raise and the claim are one transaction (version-column-apart), and that is committed
before the acquirer is called (version-column-late).
It does what the unique constraint does, with more to get wrong, and makes the order's other charges start over, too. Its
place is where the decision depends on what was read. For "was this key here before?" use insert-first.`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Race, readCommitted, ErrorToDuplicate},
		Claim{Instances, readCommitted, ErrorToDuplicate},
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: []Claim{
		{Crash, nil, Orphan},
		{LostReply, nil, Orphan},
	},
	Without: []string{KeyConstraint},
	Prepare: orderExists,
	New:     func(Env) Handler { return versionColumn },
}

func versionColumn(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var claim int64
	for try := 1; claim == 0; try++ {
		known, id, err := claimByVersion(ctx, db, req)
		switch {
		case err == nil && id == 0:
			return known, nil
		case err == nil:
			claim = id
		case (errors.Is(err, errVersionMoved) || refusedWith(err, serializationFailure)) && try < mostTries:
			// Somebody was quicker. No money has moved, so starting over costs nothing.
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

// claimByVersion returns the claim's id, or the answer to a key that is known already.
func claimByVersion(ctx context.Context, db DB, req Request) (known Response, claim int64, err error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, 0, err
	}
	defer tx.Rollback(ctx)

	var version int64
	err = tx.QueryRow(ctx, `/* version */
		SELECT versao
		  FROM pedido
		 WHERE id = $1`,
		req.OrderID).Scan(&version)
	if err != nil {
		return Response{}, 0, err
	}

	// After the version, never before: whoever claims between the two has raised it.
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

	raised, err := tx.Exec(ctx, `/* raise */
		UPDATE pedido
		   SET versao = versao + 1
		 WHERE id = $1
		   AND versao = $2`,
		req.OrderID, version)
	if err != nil {
		return Response{}, 0, err
	}
	if raised.RowsAffected() == 0 {
		return Response{}, 0, errVersionMoved
	}

	err = tx.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&claim)
	if err != nil {
		return Response{}, 0, err
	}
	return Response{}, claim, tx.Commit(ctx)
}
