package scenarios

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// ReadThenWrite reads the balance, reckons, and writes the result back: article 1, section 4.
var ReadThenWrite = Strategy{
	Name:  "read-then-write",
	Title: "read the balance; if it is enough, write it back less the amount",
	Text: `The balance is reckoned in the service, from a value that was true when it was read. Two debits that read the same balance
write the same result: the second overwrites the first, and what the first took is still there. The debits are all entered,
so the books say that more was given out than the account ever held.
A key does not help: these are two wishes to pay, with a key each. Nor does a higher isolation level, where the read is a
transaction of its own, as it is here and behind every ORM that loads an object and saves it later: whoever writes has then
seen the other's row in its transaction, only not in its arithmetic. Use conditional-update, or lock what you read.`,
	Shows: append(inARace(nil, LostUpdate),
		Claim{Race, readCommitted, Overdraft},
		Claim{Instances, readCommitted, Overdraft},
		Claim{Crash, nil, LostUpdate},
	),
	New: func(Env) Handler { return readThenWrite },
}

func readThenWrite(ctx context.Context, db DB, _ Acquirer, req Request) (Response, error) {
	var balance int64
	err := db.QueryRow(ctx, `/* read */
		SELECT saldo_centavos
		  FROM conta
		 WHERE id = $1`,
		req.OrderID).Scan(&balance)
	if err != nil {
		return Response{}, err
	}
	if balance < req.AmountCents {
		return shortOfFunds(balance, 1), nil
	}

	// The window opens here: what is written below is reckoned from a balance that nothing keeps as it is.
	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

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
