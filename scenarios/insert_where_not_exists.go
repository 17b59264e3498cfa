package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// InsertWhereNotExists puts the look and the write into one statement, and does without the constraint.
var InsertWhereNotExists = Strategy{
	Name:  "insert-where-not-exists",
	Title: "claim the key with INSERT … WHERE NOT EXISTS, without a unique constraint",
	Text: `One statement, so surely atomic? It is atomic in that it happens whole or not at all; it is not alone. The statement reads
with the snapshot that it began with, and a rival's row that is not committed yet is not in it: two such statements that
overlap both find nothing and both insert. There is no lock on a row that does not exist. SERIALIZABLE does notice, and
refuses one of the two with SQLSTATE 40001, before any money moves; at the other levels it goes through in silence.
ON CONFLICT with a unique constraint looks beyond the snapshot, and waits: insert-first.`,
	Never: append(slices.Concat(
		neverInARace(MissingCharge, ChargedWithoutRecord, Orphan),
		inARace(serializable, DoubleCharge, DivergentAnswers)),
		Claim{Crash, serializable, DoubleCharge},
		Claim{LostReply, serializable, DoubleCharge},
	),
	Shows: append(slices.Concat(
		inARace(withoutConflicts, DoubleCharge, DivergentAnswers),
		inARace(serializable, ErrorToDuplicate)),
		Claim{Crash, withoutConflicts, DoubleCharge},
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, Orphan},
	),
	Without: []string{KeyConstraint},
	New:     func(Env) Handler { return insertWhereNotExists },
}

func insertWhereNotExists(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		SELECT $1::text, $2::bigint, $3::bigint, 'PROCESSANDO'
		 WHERE NOT EXISTS (SELECT FROM cobranca WHERE idempotency_key = $1)
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) {
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1
			 ORDER BY id
			 LIMIT 1`,
			req.Key), req)
	}
	if err != nil {
		return Response{}, err
	}

	// A row came back, and that proves nothing: a rival may be looking at its own.
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
		id, out.status, out.http, out.body))
}
