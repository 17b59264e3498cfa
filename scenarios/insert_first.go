package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// InsertFirst claims the key before it acts, and lets the database refuse: article 1, section 3.
var InsertFirst = Strategy{
	Name:  "insert-first",
	Title: "claim the key with INSERT … ON CONFLICT DO NOTHING, commit, then capture",
	Text: `Looking and writing become the same operation, so there is no window: of all attempts with one key, exactly one gets a
row back from the INSERT. The claim is committed before the acquirer is called, so a duplicate neither waits nor holds a
connection: it reads PROCESSANDO and is told 409, or reads the stored answer and is told that, byte for byte.
What the constraint does not cover: a process that dies between its claim and its record leaves a PROCESSANDO that nobody
works on, and only asking the acquirer can tell whether the money moved. At REPEATABLE READ and SERIALIZABLE a duplicate
that arrives while the claim commits gets SQLSTATE 40001 and must retry; run the claim at READ COMMITTED.`,
	Never: append(neverInARace(
		DoubleCharge, MissingCharge, DivergentAnswers, Orphan, ChargedWithoutRecord, AnsweredWithoutCharge),
		Claim{Race, readCommitted, ErrorToDuplicate},
		Claim{Instances, readCommitted, ErrorToDuplicate},
		Claim{Crash, nil, DoubleCharge},
		Claim{LostReply, nil, DoubleCharge},
	),
	Shows: []Claim{
		{Race, snapshotLevels, ErrorToDuplicate},
		{Instances, snapshotLevels, ErrorToDuplicate},
		{Crash, nil, Orphan},
		{LostReply, nil, Orphan},
	},
	Needs: []string{KeyConstraint},
	New:   func(Env) Handler { return insertFirst },
}

func insertFirst(ctx context.Context, db DB, acq Acquirer, req Request) (Response, error) {
	var id int64
	err := db.QueryRow(ctx, `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`,
		req.Key, req.OrderID, req.AmountCents).Scan(&id)

	if errors.Is(err, pgx.ErrNoRows) { // RETURNING gives only rows that were inserted: somebody else has the key
		return repeat(db.QueryRow(ctx, `/* read */
			SELECT status, pedido_id, valor_centavos, resposta_http, resposta_corpo::text
			  FROM cobranca
			 WHERE idempotency_key = $1`,
			req.Key), req)
	}
	if err != nil {
		return Response{}, err
	}

	// The claim is committed and no transaction is open: while the acquirer takes its time, nobody waits in the database.
	receipt, err := acq.Capture(ctx, Charge(req))
	if err != nil {
		return Response{}, err // the money may have moved: PROCESSANDO stays, and is the only honest record
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
