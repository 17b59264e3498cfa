package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// TenantInKey leaves the constraint as it is, and makes the keys differ.
var TenantInKey = Strategy{
	Name:  "tenant-in-key",
	Title: "insert-first under UNIQUE (idempotency_key), with the tenant in front of the key",
	Text: `The server puts the tenant in front of the client's key, and everything behind that works with the longer one: the constraint, the
lookup, the acquirer, the reconciler that asks it. No other constraint, and no lookup in which the tenant can be forgotten. What
it takes is one way only to read the parts: a number and a hyphen will do, while with two free texts a tenant "a-b"
with the key "c" would be the tenant "a" with "b-c". Keys that were stored before have no tenant yet: give it to them in the same
deployment, or a retry that spans it is charged again.`,
	Never: append(append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, AnsweredWithoutCharge),
		inARace(withoutConflicts, Orphan, ChargedWithoutRecord)...),
		Claim{Race, readCommitted, ErrorToDuplicate},
		Claim{Instances, readCommitted, ErrorToDuplicate},
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
		Claim{Crash, nil, AnsweredWithoutCharge},
		Claim{LostReply, nil, AnsweredWithoutCharge},
	),
	Shows: []Claim{{Crash, nil, Orphan}, {LostReply, nil, Orphan}},
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return tenantInKey },
}

func tenantInKey(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	req.Key = tenantKey(req)

	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (inquilino, idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, $4, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Tenant, req.Key, req.OrderID, req.AmountCents).Scan(&id)

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
