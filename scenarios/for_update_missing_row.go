package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// ForUpdateMissingRow takes a pessimistic lock on a row that is not there yet: article 1, section 4.
var ForUpdateMissingRow = Strategy{
	Name:  "for-update-missing-row",
	Title: "look the charge up with SELECT … FOR UPDATE, capture, insert, in one transaction",
	Text: `FOR UPDATE locks the rows that it returns, and before the first charge it returns none: nothing is locked, nobody waits, and
what remains is check-then-act inside a transaction. It looks safe in review, and it is safe in every test in which the row
exists. SERIALIZABLE notices that two transactions looked for the same missing row, and refuses one with SQLSTATE 40001,
after both have told the acquirer: the table is clean and the customer paid twice.
Lock a row that is there, such as the order's (for-update-order), or let a constraint decide (insert-first).`,
	Never: neverInARace(MissingCharge, Orphan, AnsweredWithoutCharge),
	Shows: append(slices.Concat(
		inARace(nil, DoubleCharge),
		inARace(withoutConflicts, DivergentAnswers),
		inARace(serializable, ChargedWithoutRecord, ErrorToDuplicate)),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Without: []string{KeyConstraint},
	New:     func(Env) Handler { return forUpdateMissingRow },
}

func forUpdateMissingRow(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

	known, err := repeat(tx.QueryRow(ctx, `/* lock */
		SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1
		 ORDER BY id
		 LIMIT 1
		   FOR UPDATE`,
		req.Key), req)
	if !errors.Is(err, pgx.ErrNoRows) {
		return known, err
	}

	// No row, so no lock: the rival's SELECT … FOR UPDATE has returned at once, too.
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // the money may have moved, and the rollback leaves nothing that says so
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
