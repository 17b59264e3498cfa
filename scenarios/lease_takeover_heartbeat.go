package scenarios

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// LeaseTakeoverHeartbeat renews the lease while its worker lives, so that a short lease can outlast a long call.
var LeaseTakeoverHeartbeat = Strategy{
	Name:  "lease-takeover-heartbeat",
	Title: "claim with a lease and a fencing token, and renew the lease while the acquirer is at work",
	Text: `A heartbeat makes "run out" mean "its worker has not been heard of": the lease is renewed three times in its length for as
long as the call takes, so that it may be short, and still nobody takes over from a worker that merely waits. Under a race
it holds, and after a crash the key is free again when the lease has run out, instead of never.
Two moments are left. A process that is stopped for longer than the lease (a pause of the garbage collector, a suspended
machine, a network that is cut off) is taken over and then goes on. And whoever takes over from the dead charges again, if
the dead had charged: the lease says that nobody is working, not that nothing was done. Ask the acquirer before you charge
(intent-then-reconcile), or let it deduplicate (recovery-points).`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Race, readCommitted, ErrorToDuplicate},
		Claim{Instances, readCommitted, ErrorToDuplicate},
	),
	Shows: append(inARace(snapshotLevels, ErrorToDuplicate),
		Claim{Crash, nil, Orphan}, // until the lease has run out; what comes then depends on the clock
		Claim{LostReply, nil, Orphan},
	),
	Needs: []string{KeyConstraint},
	New: func(env Env) Handler {
		return func(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
			return leaseTakeoverHeartbeat(ctx, db, acq, req, env)
		}
	},
}

func leaseTakeoverHeartbeat(ctx context.Context, db DB, acq Acquirer, req Request, env Env) (Response, error) {
	lease := leaseOf(env, longEnough)

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

	beating := env.Every
	if beating == nil {
		beating = every
	}
	stop := beating(lease/3, func() {
		// A beat that fails is made up for by the next; after three of them the lease has run out, and that is what it is for.
		_, _ = db.Exec(ctx, `/* heartbeat */
			UPDATE cobranca
			   SET posse_ate = $3
			 WHERE idempotency_key = $1
			   AND ficha = $2
			   AND status = 'PROCESSANDO'`,
			req.Key, token, env.Now().Add(lease))
	})
	defer stop()
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // the money may have moved: PROCESSANDO stays, until the lease has run out
	}
	stop()

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

	// This worker was not heard of for longer than its lease, and somebody has taken over.
	return repeat(db.QueryRow(ctx, `/* read-after */
		SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
		  FROM cobranca
		 WHERE idempotency_key = $1`,
		req.Key), req)
}

// every calls beat at an interval until it is stopped; stop waits for a beat that is under way, and may be called twice.
func every(interval time.Duration, beat func()) (stop func()) {
	quit := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		tick := time.NewTicker(max(interval, time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				beat()
			case <-quit:
				return
			}
		}
	})
	return sync.OnceFunc(func() {
		close(quit)
		beating.Wait()
	})
}
