package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// ProcessMutex is check-then-act under a mutex of the process: article 1, section 2, "instâncias diferentes".
var ProcessMutex = Strategy{
	Name:  "process-mutex",
	Title: "take a mutex of the process; look, capture and insert under it",
	Text: `With one instance of the service it holds, at every isolation level, and so it passes every test on a laptop, if one charge at
a time is fast enough. The second instance has a mutex of its own: behind a load balancer the two halves of a double tap
fall to different processes, and each finds its mutex free. A deployment that overlaps the old process with the new one is
two instances, too. And a crash takes the mutex with it.
The decision must be made where all instances meet, and that is the database: insert-first.`,
	Never: []Claim{
		{Race, nil, DoubleCharge},
		{Race, nil, MissingCharge},
		{Race, nil, DivergentAnswers},
		{Race, nil, Orphan},
		{Race, nil, ChargedWithoutRecord},
		{Race, nil, AnsweredWithoutCharge},
		{Race, nil, ErrorToDuplicate},
	},
	Shows: []Claim{
		{Instances, nil, DoubleCharge},
		{Instances, nil, DivergentAnswers},
		{Crash, nil, DoubleCharge},
		{LostReply, nil, DoubleCharge},
	},
	Without: []string{KeyConstraint},
	New: func(env Env) Handler {
		return func(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
			// The danger: this is a variable in the memory of one process.
			unlock, err := env.Lock(ctx, "charge")
			if err != nil {
				return Response{}, err
			}
			defer unlock()
			return underMutex(ctx, db, acq, req)
		}
	},
}

func underMutex(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
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
