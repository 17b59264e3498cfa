package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// VersionColumnApart is VersionColumn with the raise and the claim in transactions of their own.
var VersionColumnApart = Strategy{
	Name:  "version-column-apart",
	Title: "raise the order's version, then insert the claim in a transaction of its own, then capture",
	Text: `The optimistic lock works: of two that read the same version, one raises it. But the raise says only that somebody was here;
what for stands in the claim, and that comes a moment later. An attempt that begins in between reads the new version, finds
no claim, raises the version once more and charges. The window is as narrow as two commits, which a stress test with a
fast acquirer seldom hits and an exhaustive search finds at once.
What is decided together is written together: version-column. Or need no second row at all: insert-first.`,
	Never: append(neverInARace(MissingCharge, AnsweredWithoutCharge),
		inARace(withoutConflicts, Orphan, ChargedWithoutRecord)...),
	Shows: append(inARace(nil, DoubleCharge, DivergentAnswers),
		Claim{Crash, nil, DoubleCharge},
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, DoubleCharge},
	),
	Without: []string{KeyConstraint},
	Prepare: orderExists,
	New:     func(Env) Handler { return versionColumnApart },
}

func versionColumnApart(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	for try := 1; ; try++ {
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

		raised, err := db.Exec(ctx, `/* raise */
			UPDATE pedido
			   SET versao = versao + 1
			 WHERE id = $1
			   AND versao = $2`,
			req.OrderID, version)
		if err == nil && raised.RowsAffected() == 1 {
			break
		}
		if err != nil && !refusedWith(err, serializationFailure) {
			return Response{}, err
		}
		if try == mostTries {
			return Response{}, errVersionMoved
		}
	}

	// The window: the version is raised and committed, and no row says for which key.
	var claim int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&claim)
	if err != nil {
		return Response{}, err
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
