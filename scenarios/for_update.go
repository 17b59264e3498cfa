package scenarios

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// ForUpdate is pessimistic locking: article 1, section 4.
var ForUpdate = Strategy{
	Name:  "for-update",
	Title: "read the balance with SELECT … FOR UPDATE; write it back under the lock",
	Text: `The lock makes reading and writing one: from the read to the commit nobody else can read the balance with the intention of
changing it. Whoever comes second waits, and then reads what the first has left. The lock needs a row that is there, and an
account is; it is held for as long as the transaction is open, so nothing slow belongs in there.
At REPEATABLE READ and SERIALIZABLE whoever has waited does not get the new balance but SQLSTATE 40001, and must start over.
A debit that fits into one statement needs no lock of its own: conditional-update.`,
	Never: debitsConserveMoney(),
	New:   func(Env) Handler { return forUpdate },
}

func forUpdate(ctx context.Context, db DB, _ Acquirer, req Request) (Response, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

	var balance int64
	err = tx.QueryRow(ctx, `/* lock */
		SELECT saldo_centavos
		  FROM conta
		 WHERE id = $1
		   FOR UPDATE`,
		req.OrderID).Scan(&balance)
	if err != nil {
		return Response{}, err
	}
	if balance < req.AmountCents {
		return shortOfFunds(balance, 1), tx.Commit(ctx)
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
	return debited(balance-req.AmountCents, 1), tx.Commit(ctx)
}
