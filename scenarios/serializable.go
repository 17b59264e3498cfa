package scenarios

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Serializable leaves it to PostgreSQL to notice, and runs again what was refused.
var Serializable = Strategy{
	Name:  "serializable",
	Title: "read and write back in one SERIALIZABLE transaction; on SQLSTATE 40001 start over",
	Text: `The code of read-then-write, in one transaction at a level that promises the result of some order one after another. Of two
that read the same balance PostgreSQL lets one commit and refuses the other with 40001, which starts over. Nothing that is
read needs to be named as locked or versioned, which is the point where a decision depends on more than one row.
Here, unlike in serializable-retry, the transaction holds nothing that a rollback does not undo, so running it again is
harmless. It takes the level and the loop, both: without the level the update is lost, without the loop clients get errors.
The retries are bounded, and each answer says how often it was tried.`,
	Never: debitsConserveMoney(),
	New:   func(Env) Handler { return debitSerializable },
}

func debitSerializable(ctx context.Context, db DB, _ Acquirer, req Request) (Response, error) {
	for try := 1; ; try++ {
		resp, err := debitInOneTransaction(ctx, db, req, try)
		if !refusedWith(err, serializationFailure) || try == mostDebitTries {
			return resp, err
		}
	}
}

func debitInOneTransaction(ctx context.Context, db DB, req Request, try int) (Response, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.Serializable})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

	var balance int64
	err = tx.QueryRow(ctx, `/* read */
		SELECT saldo_centavos
		  FROM conta
		 WHERE id = $1`,
		req.OrderID).Scan(&balance)
	if err != nil {
		return Response{}, err
	}
	if balance < req.AmountCents {
		return shortOfFunds(balance, try), tx.Commit(ctx)
	}

	_, err = tx.Exec(ctx, `/* write */
		UPDATE conta
		   SET saldo_centavos = $2
		 WHERE id = $1`,
		req.OrderID, balance-req.AmountCents)
	if err != nil {
		return Response{}, err
	}
	_, err = tx.Exec(ctx, `/* enter */
		INSERT INTO lancamento (conta_id, idempotency_key, valor_centavos)
		VALUES ($1, $2, $3)`,
		req.OrderID, req.Key, req.AmountCents)
	if err != nil {
		return Response{}, err
	}
	return debited(balance-req.AmountCents, try), tx.Commit(ctx)
}
