package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// ConditionalUpdate lets the database reckon: reading, deciding and writing are one statement.
var ConditionalUpdate = Strategy{
	Name:  "conditional-update",
	Title: "UPDATE … SET saldo = saldo - x WHERE saldo >= x, and the entry, in one statement",
	Text: `What insert-first is to a charge, this is to a balance: the decision is made inside the write, so there is no window. The
UPDATE waits for whoever has the row, looks at its condition again on the new balance, and takes the amount off that one; 0
rows mean that there is not enough. The entry is written by the same statement, so that there is nothing to roll back.
No lock to choose, no retry to bound, one round trip. It reaches as far as the decision can be said in SQL. At REPEATABLE
READ and SERIALIZABLE a debit that has waited gets SQLSTATE 40001 in place of a second look; run it at READ COMMITTED.`,
	Never: debitsConserveMoney(),
	New:   func(Env) Handler { return conditionalUpdate },
}

func conditionalUpdate(ctx context.Context, db DB, _ Acquirer, req Request) (Response, error) {
	var balance int64
	err := db.QueryRow(ctx, `/* debit */
		WITH debito AS (
			UPDATE conta
			   SET saldo_centavos = saldo_centavos - $2
			 WHERE id = $1
			   AND saldo_centavos >= $2
			RETURNING id, saldo_centavos
		), lancado AS (
			INSERT INTO lancamento (conta_id, idempotency_key, valor_centavos)
			SELECT id, $3, $2
			  FROM debito
		)
		SELECT saldo_centavos
		  FROM debito`,
		req.OrderID, req.AmountCents, req.Key).Scan(&balance)

	if errors.Is(err, pgx.ErrNoRows) { // not enough; the balance is for the client to read, nothing is decided by it
		err = db.QueryRow(ctx, `/* balance */
			SELECT saldo_centavos
			  FROM conta
			 WHERE id = $1`,
			req.OrderID).Scan(&balance)
		return shortOfFunds(balance, 1), err
	}
	return debited(balance, 1), err
}
