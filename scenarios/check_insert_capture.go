package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// CheckInsertCapture looks first, but writes before it charges: article 1, section 2, with the steps as its drawing has them.
var CheckInsertCapture = Strategy{
	Name:  "check-insert-capture",
	Title: "look the key up; if it is not there, insert, then capture",
	Text: `Better than check-then-act in one respect: the record is written before the money moves, so a crash leaves a trace. Under
a race it is the same defect with a narrower window, because the time of the acquirer is no longer inside it: what remains
is the time between the SELECT and the moment at which the INSERT is committed. A narrow window only makes the double
charge rare, and rare is what passes the tests and happens at the peak. At SERIALIZABLE it is worse: the statements are
transactions of their own, so nothing stops the double charge, but a record may be refused with SQLSTATE 40001 because of
the other rows, and then the money moved and PROCESSANDO stays. Let the INSERT itself decide: insert-first.`,
	Never: append(neverInARace(MissingCharge),
		inARace(withoutConflicts, ChargedWithoutRecord, Orphan, ErrorToDuplicate)...),
	Shows: append(inARace(nil, DoubleCharge, DivergentAnswers),
		Claim{Crash, nil, DoubleCharge},
		Claim{Crash, nil, Orphan},
		Claim{LostReply, nil, Orphan},
	),
	Without: []string{KeyConstraint},
	New:     func(Env) Handler { return checkInsertCapture },
}

func checkInsertCapture(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
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

	// The window: whoever looks between here and the end of the INSERT finds nothing, either.
	var id int64
	err = db.QueryRow(ctx, `/* insert */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id)
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
		id, out.status, out.http, out.body))
}
