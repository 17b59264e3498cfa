package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// TenantCompared closes the leak, and not the hole.
var TenantCompared = Strategy{
	Name:  "tenant-compared",
	Title: "insert-first under UNIQUE (idempotency_key); a key that another tenant has used is refused as one used for something else",
	Text: `The tenant is compared like the order and the amount, so that nobody is told another's answer: under a key that is somebody else's
the client gets 422. That is the right answer to a client that uses its key twice. This one has not: its charge is legitimate,
it has done nothing wrong, and no retry will ever get through. Besides it learns which keys its neighbours use. What is compared
says whether a request is the one that the key stands for; what is unique says whose keys they are, and that is what must change.`,
	Never: slices.Concat(
		neverInARace(DoubleCharge, AnsweredWithoutCharge),
		inARace(withoutConflicts, Orphan, ChargedWithoutRecord),
		[]Claim{{Crash, nil, DoubleCharge}, {LostReply, nil, DoubleCharge}, {Crash, nil, AnsweredWithoutCharge}, {LostReply, nil, AnsweredWithoutCharge}}),
	Shows: append(inARace(nil, MissingCharge), Claim{Crash, nil, MissingCharge}),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return tenantCompared },
}

func tenantCompared(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (inquilino, idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, $4, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Tenant, req.Key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) {
		var whose int64
		r, err := repeat(andFirst(db.QueryRow(ctx, `/* read */
			SELECT inquilino, status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), &whose), req)
		if err == nil && whose != req.Tenant {
			return Response{Mismatched, 422, `{"title": "Idempotency-Key is already used"}`}, nil // the danger: it never was, by this client
		}
		return r, err
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
