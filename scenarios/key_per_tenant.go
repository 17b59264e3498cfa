package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// KeyPerTenant says in the constraint whose the keys are.
var KeyPerTenant = Strategy{
	Name:  "key-per-tenant",
	Title: "insert-first under UNIQUE (inquilino, idempotency_key)",
	Text: `A key is unique among those of the tenant that made it, and of nobody else's: the constraint says so, the statement that reads a key
back says so, and so does the one that records the answer; a tenant left out of any of them is a leak. What else a key is unique
within, such as the endpoint, goes the same way. The tenant comes from the client's authentication, never from what it sends.
The acquirer has no tenants: to it the service is one customer, and it would take two equal keys for one charge. It is given a key
that has the tenant in it. And the column must be NOT NULL: two NULLs are distinct, so that without a tenant the constraint refuses
nothing, and every retry is a charge (idemlab neighbours shows it; NULLS NOT DISTINCT, of PostgreSQL 15, mends that, too).`,
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
	Needs: []string{TenantKeyConstraint},
	Table: "cobranca_inquilino",
	New:   func(Env) Handler { return keyPerTenant },
}

func keyPerTenant(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca_inquilino (inquilino, idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, $4, 'PROCESSANDO')
		ON CONFLICT (inquilino, idempotency_key) DO NOTHING
		RETURNING id`,
		req.Tenant, req.Key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) {
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca_inquilino
			 WHERE inquilino = $1
			   AND idempotency_key = $2`,
			req.Tenant, req.Key), req)
	}
	if err != nil {
		return Response{}, err
	}

	charge := Charge(req)
	charge.Key = tenantKey(req) // the acquirer knows no tenants
	receipt, err := acq.Capture(ctx, charge)
	if err != nil {
		return Response{}, err // the money may have moved: PROCESSANDO stays
	}

	out := outcomeOf(receipt)
	return out.first(db.QueryRow(ctx, `/* record */
		UPDATE cobranca_inquilino
		   SET status         = $3,
		       resposta_http  = $4,
		       resposta_corpo = $5
		 WHERE inquilino = $1
		   AND idempotency_key = $2
		RETURNING resposta_http, resposta_corpo::text`,
		req.Tenant, req.Key, out.status, out.http, out.body))
}
