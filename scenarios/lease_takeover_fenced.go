package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// LeaseTakeoverFenced adds a fencing token to LeaseTakeover: each takeover raises a number, and only its bearer may record.
var LeaseTakeoverFenced = Strategy{
	Name:  "lease-takeover-fenced",
	Title: "claim with a lease and a fencing token; only the bearer of the newest token may record",
	Text: `Each takeover raises a token, and the record is written only by whoever holds the newest. A worker that comes back from the
dead is refused and gives the answer that stands, or 409: the table is consistent, and no two clients hold different
receipts. A fencing token protects the record, not the acquirer: the late worker had charged before it was refused, and the
acquirer does not know our numbers. It would have to keep the newest token for each key and refuse older ones, and then it
could as well deduplicate by the key (recovery-points).
As in lease-takeover, the lease here has run out from the start unless told otherwise (race --lease).`,
	Never: neverInARace(MissingCharge, AnsweredWithoutCharge, DivergentAnswers),
	Shows: append(append(inARace(nil, DoubleCharge, ChargedWithoutRecord), inARace(snapshotLevels, ErrorToDuplicate)...),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Needs: []string{KeyConstraint},
	New: func(env Env) Handler {
		return func(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
			return leaseTakeoverFenced(ctx, db, acq, req, env)
		}
	},
}

func leaseTakeoverFenced(ctx context.Context, db DB, acq Acquirer, req Request, env Env) (Response, error) {
	lease := leaseOf(env, overAtOnce)

	now := env.Now()
	var token int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, posse_ate)
		VALUES ($1, $2, $3, 'PROCESSANDO', $4)
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING ficha`,
		req.Key, req.OrderID, req.AmountCents, now.Add(lease)).Scan(&token)

	if errors.Is(err, pgx.ErrNoRows) {
		now = env.Now()
		err = db.QueryRow(ctx, `/* take-over */
			UPDATE cobranca
			   SET posse_ate = $4,
			       ficha     = ficha + 1
			 WHERE idempotency_key = $1
			   AND pedido_id = $2
			   AND valor_centavos = $3
			   AND status = 'PROCESSANDO'
			   AND posse_ate <= $5
			RETURNING ficha`,
			req.Key, req.OrderID, req.AmountCents, now.Add(lease), now).Scan(&token)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req)
	}
	if err != nil {
		return Response{}, err
	}

	// The danger: the token is checked at the table. Here nobody asks for it.
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // the money may have moved: PROCESSANDO stays, until somebody takes it over and charges again
	}

	out := outcomeOf(receipt)
	resp, err := out.first(db.QueryRow(ctx, `/* record */
		UPDATE cobranca
		   SET status         = $3,
		       resposta_http  = $4,
		       resposta_corpo = $5
		 WHERE idempotency_key = $1
		   AND ficha = $2
		RETURNING resposta_http, resposta_corpo::text`,
		req.Key, token, out.status, out.http, out.body))
	if !errors.Is(err, pgx.ErrNoRows) {
		return resp, err
	}

	// Somebody has taken over: what we charged stands at the acquirer, and nowhere else.
	return repeat(db.QueryRow(ctx, `/* read-after */
		SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1`,
		req.Key), req)
}
