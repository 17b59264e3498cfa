package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// InsertFirstCatch is InsertFirst without ON CONFLICT: the refusal comes as an error, and is handled: article 1, section 3,
// step 1; article 2, "a corrida entre requisições duplicadas simultâneas".
var InsertFirstCatch = Strategy{
	Name:  "insert-first-catch",
	Title: "claim the key with a plain INSERT, handle the unique violation, then capture",
	Text: `The same guarantee as insert-first, from the same constraint: the second INSERT fails with SQLSTATE 23505, and that
failure means "somebody has this key". It must be caught outside a transaction (inside one, every later statement fails
with 25P02), and each refusal leaves a dead row and a line in the server's log. What it has over ON CONFLICT: outside a
transaction it is refused with 23505, never with 40001, at REPEATABLE READ and SERIALIZABLE too.
It needs the constraint more than it looks: without it the very same code runs without an error and charges every time.`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge, ErrorToDuplicate),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: []Claim{
		{Crash, nil, Orphan},
		{LostReply, nil, Orphan},
	},
	New: func(Env) Handler { return insertFirstCatch },
}

func insertFirstCatch(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	_, err := db.Exec(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')`,
		req.Key, req.OrderID, req.AmountCents)

	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == "23505" { // unique_violation
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req)
	}
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
		 WHERE idempotency_key = $1
		RETURNING resposta_http, resposta_corpo::text`,
		req.Key, out.status, out.http, out.body))
}
