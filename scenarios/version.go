package scenarios

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// Version is optimistic locking: article 1, section 4.
var Version = Strategy{
	Name:  "version",
	Title: "read the balance and its version; write only if the version is still the same, else start over",
	Text: `Nobody waits for a reader. Each debit reads the balance with its version and writes both, on condition that the version is
still what it read; of two that read the same one succeeds, and the other has changed 0 rows and starts over from the new
balance. It costs nothing where debits seldom meet. Where they meet all the time, most of the work is thrown away: the
retries are bounded, so that some debits are told of an error in the end although there was money, and each answer says how
often it was tried.
Two things make it hold: the condition is in the UPDATE, not in front of it, and the entry is in the same transaction.`,
	Never: debitsConserveMoney(),
	New:   func(Env) Handler { return debitByVersion },
}

// errAccountMoved says that the account's version was no longer what was read: somebody was quicker.
var errAccountMoved = errors.New("the account's version has moved on")

func debitByVersion(ctx context.Context, db DB, _ Acquirer, req Request) (Response, error) {
	for try := 1; ; try++ {
		resp, err := debitIfUnmoved(ctx, db, req, try)
		quicker := errors.Is(err, errAccountMoved) || refusedWith(err, serializationFailure)
		if !quicker || try == mostDebitTries {
			return resp, err
		}
	}
}

func debitIfUnmoved(ctx context.Context, db DB, req Request, try int) (Response, error) {
	var balance, version int64
	err := db.QueryRow(ctx, `/* read */
		SELECT saldo_centavos, versao
		  FROM conta
		 WHERE id = $1`,
		req.OrderID).Scan(&balance, &version)
	if err != nil {
		return Response{}, err
	}
	if balance < req.AmountCents {
		return shortOfFunds(balance, try), nil
	}

	tx, err := db.BeginTx(ctx, pgx.TxOptions{})
	if err != nil {
		return Response{}, err
	}
	defer tx.Rollback(ctx)

	written, err := tx.Exec(ctx, `/* write */
		UPDATE conta
		   SET saldo_centavos = $2,
		       versao         = versao + 1
		 WHERE id = $1
		   AND versao = $3`,
		req.OrderID, balance-req.AmountCents, version)
	if err != nil {
		return Response{}, err
	}
	if written.RowsAffected() == 0 {
		return Response{}, errAccountMoved
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
