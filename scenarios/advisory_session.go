package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// AdvisorySession takes an advisory lock on the key that belongs to the connection, and gives it back by hand.
var AdvisorySession = Strategy{
	Name:  "advisory-session",
	Title: "take pg_advisory_lock on the key for the session; look, capture and insert under it; unlock",
	Text: `The lock belongs to the connection and not to a transaction, so none need be open, and each statement under it has a snapshot
of its own: under a race it holds at every isolation level, as long as the unlock comes after the commit. Everything else is
harder. The connection must be pinned for the length of the call. The lock must be given back on every way out, also on
errors, or the pool hands a locked connection to the next request. And behind a pooler that hands out a server connection
for each transaction (PgBouncer's transaction mode), lock, look and unlock may run on three of them: two clients then hold
the lock at once, and it outlives both. After a crash it is gone and the money is not: the retry charges again.
Where a lock it must be, take advisory-xact. To charge once, commit a claim: insert-first.`,
	Never: neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge, ErrorToDuplicate),
	Shows: []Claim{
		{Crash, nil, DoubleCharge},
		{LostReply, nil, DoubleCharge},
	},
	Without: []string{KeyConstraint},
	New:     func(Env) Handler { return advisorySession },
}

func advisorySession(ctx context.Context, db DB, acq Acquirer, req Request) (resp Response, err error) {
	err = db.Session(ctx, func(db DB) error {
		_, err := db.Exec(ctx, `/* lock */
			SELECT pg_advisory_lock(hashtextextended($1, 0))`,
			req.Key)
		if err != nil {
			return err
		}
		// Also when the client has gone: the lock would outlive the request. A connection on which this fails is lost, and the
		// lock with it.
		defer db.Exec(context.WithoutCancel(ctx), `/* unlock */
			SELECT pg_advisory_unlock(hashtextextended($1, 0))`,
			req.Key)

		resp, err = repeat(db.QueryRow(ctx, `/* check */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1
			 ORDER BY id
			 LIMIT 1`,
			req.Key), req)
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}

		receipt, err := acq.Capture(ctx, Charge(req))
		if err != nil {
			return err // the money may have moved, and nothing says so
		}

		out := outcomeOf(receipt)
		resp, err = out.first(db.QueryRow(ctx, `/* insert */
			INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, resposta_http, resposta_corpo)
			VALUES ($1, $2, $3, $4, $5, $6)
			RETURNING resposta_http, resposta_corpo::text`,
			req.Key, req.OrderID, req.AmountCents, out.status, out.http, out.body))
		return err
	})
	return resp, err
}
