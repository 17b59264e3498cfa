package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// LeaseTakeover gives the claim an end, after which anybody may take it over: an answer to article 1's orphans.
var LeaseTakeover = Strategy{
	Name:  "lease-takeover",
	Title: "claim with a lease; whoever finds it run out takes the charge over, captures and records",
	Text: `A claim without an end blocks its key for ever when its worker dies; so give it one, and let the next attempt take over. But
a lease that has run out says "I have waited long enough", not "that worker is dead": it may be waiting for the acquirer,
or for its garbage collector, and both then charge. Unless told otherwise the lease here has run out from the start, which
is the moment that matters, made certain; with a longer one (race --lease 1s) the very same thing happens once a call takes
longer. The first worker's record then overwrites the second's, so the clients hold different receipts.
A fencing token mends the record (lease-takeover-fenced), a heartbeat makes the moment rarer (lease-takeover-heartbeat),
and only the acquirer can mend the double charge: ask it first (intent-then-reconcile), or let it deduplicate
(recovery-points).`,
	Never: neverInARace(MissingCharge, AnsweredWithoutCharge),
	Shows: append(slices.Concat(
		inARace(nil, DoubleCharge, ChargedWithoutRecord),
		inARace(readCommitted, DivergentAnswers),
		inARace(snapshotLevels, ErrorToDuplicate)),
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Needs: []string{KeyConstraint},
	New: func(env Env) Handler {
		return func(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
			return leaseTakeover(ctx, db, acq, req, env)
		}
	},
}

func leaseTakeover(ctx context.Context, db DB, acq Acquirer, req Request, env Env) (Response, error) {
	lease := leaseOf(env, overAtOnce)

	// The clock is the instance's, and passed in. Two instances whose clocks differ take over that much too early.
	now := env.Now()
	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, posse_ate)
		VALUES ($1, $2, $3, 'PROCESSANDO', $4)
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents, now.Add(lease)).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) {
		now = env.Now()
		err = db.QueryRow(ctx, `/* take-over */
			UPDATE cobranca
			   SET posse_ate = $4
			 WHERE idempotency_key = $1
			   AND pedido_id = $2
			   AND valor_centavos = $3
			   AND status = 'PROCESSANDO'
			   AND posse_ate <= $5
			RETURNING id`,
			req.Key, req.OrderID, req.AmountCents, now.Add(lease), now).Scan(&id)
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

	// The danger: from here on nothing asks whether the lease is still ours, and the acquirer never does.
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // the money may have moved: PROCESSANDO stays, until somebody takes it over and charges again
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
