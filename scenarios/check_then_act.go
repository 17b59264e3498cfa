package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// CheckThenAct looks first and writes later: article 1, section 2.
var CheckThenAct = Strategy{
	Name:  "check-then-act",
	Title: "look the key up; if it is not there, capture, then insert",
	Text: `The first idea that comes to mind. Looking and writing are two operations, and between them is a window: attempts that
look before any of them has written all find nothing, and all charge. The defect is a race of the kind check-then-act
(CWE-367). It hides in local tests, where requests come one after another, and shows at the peak, across instances.
A UNIQUE constraint added to this order would clean the table, not the customer's statement: the money has moved by the
time the second INSERT is refused. Use insert-first.`,
	Shows: []Claim{
		{Race, nil, DoubleCharge},
		{Race, nil, DivergentAnswers},
		{Instances, nil, DoubleCharge},
		{Instances, nil, DivergentAnswers},
		{Crash, nil, DoubleCharge},
		{LostReply, nil, DoubleCharge},
	},
	Without: []string{KeyConstraint},
	New:     func(Env) Handler { return checkThenAct },
}

func checkThenAct(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
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

	// The window opens here: "there is no row" was true when it was read, and nothing keeps it true.
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err
	}

	out := outcomeOf(receipt)
	return out.first(db.QueryRow(ctx, `/* insert */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, resposta_http, resposta_corpo)
		VALUES ($1, $2, $3, $4, $5, $6)
		RETURNING resposta_http, resposta_corpo::text`,
		req.Key, req.OrderID, req.AmountCents, out.status, out.http, out.body))
}
