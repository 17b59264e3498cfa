package scenarios

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/jackc/pgx/v5"
)

// NewKeyPerRetry is InsertFirst behind a client that makes a new key for each request: article 1, section 5, first point.
var NewKeyPerRetry = Strategy{
	Name:  "new-key-per-retry",
	Title: "insert-first, and a client that makes a new key for each try",
	Text: `The server does everything right, and is asked for several charges: a client whose HTTP library, proxy or job runner makes
the key afresh for each try says "this is another wish to pay" each time, and the server has no way to know better. Every
try is charged, the sequential retry after a timeout included, which is the very case that the key is there for.
The key belongs to the wish, not to the request: the app makes it when "pay" is tapped, keeps it with the order form, and
sends it with every try until one has a final answer. What the server can add is a rule of the business beside the key,
such as one open charge for each order and amount.`,
	Never: append(neverInARace(MissingCharge, AnsweredWithoutCharge),
		inARace(withoutConflicts, Orphan, ChargedWithoutRecord, ErrorToDuplicate)...),
	Shows: append(inARace(nil, DoubleCharge, DivergentAnswers),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return newKeyPerRetry },
}

func newKeyPerRetry(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	// This line is the client's. What belongs to the wish is replaced by what belongs to the request.
	key := req.Key + "/" + rand.Text()

	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) {
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			key), req)
	}
	if err != nil {
		return Response{}, err
	}

	receipt, err := acq.Capture(ctx, Charge{Key: key, OrderID: req.OrderID, AmountCents: req.AmountCents})
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
		key, out.status, out.http, out.body))
}
