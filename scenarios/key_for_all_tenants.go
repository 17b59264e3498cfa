package scenarios

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
)

// KeyForAllTenants is insert-first as it stands, in a service that has got a second tenant since.
var KeyForAllTenants = Strategy{
	Name:  "key-for-all-tenants",
	Title: "insert-first under UNIQUE (idempotency_key), whosever key it is",
	Text: `The constraint was made when there was one tenant, and it says that a key is unique in the table. To two tenants with equal keys it
is the same wish: the second one's charge is refused, for ever, though nothing is wrong with it. Worse, where order and amount are
equal, too, the comparison that should tell two wishes apart finds no difference, and the second tenant is told the first one's
answer: a charge that never happened, under a number that belongs to somebody else. A UUID for a key makes it rare, not
impossible, and the server does not make the keys. Make the key each tenant's own (key-per-tenant, tenant-in-key).`,
	Never: slices.Concat(
		neverInARace(DoubleCharge),
		inARace(withoutConflicts, Orphan, ChargedWithoutRecord),
		[]Claim{{Crash, nil, DoubleCharge}, {LostReply, nil, DoubleCharge}}),
	Shows: append(inARace(nil, MissingCharge), Claim{Crash, nil, AnsweredWithoutCharge}),
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return keyForAllTenants },
}

func keyForAllTenants(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (inquilino, idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, $4, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Tenant, req.Key, req.OrderID, req.AmountCents).Scan(&id) // the danger: the tenant is written, and decides nothing

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
