package scenarios

import (
	"context"
	"encoding/json"
	"fmt"
)

// Debit is the neighbour that no key solves: several debits of one account at the same time, each a wish of its own with a key
// of its own. The decision depends on a value that was read. Stock and seats are the same thing.
var Debit = Scenario{
	Name:       "debit",
	Title:      "one account, many different debits: money must be conserved, and nothing fall below zero",
	Strategies: debitStrategies,
	Control:    ReadThenWrite,
	Tables:     []string{"conta", "lancamento"},
	Rows: `
		SELECT 0::bigint, '', id, saldo_centavos, to_char(saldo_centavos / 100.0, 'FM999999990.00'), 0, '', 0::bigint
		  FROM conta
		 WHERE id >= $2
		UNION ALL
		SELECT id, idempotency_key, conta_id, valor_centavos, 'débito', 0, '', 0::bigint
		  FROM lancamento
		 WHERE id > $1
		   AND conta_id >= $2
		 ORDER BY 1`,
	Answers: []Answer{Charged, Declined, Failed},
	Request: debitOfItsOwn,
	Prepare: openAccount,
	Check:   checkDebit,
	Model:   &debitModel,
	Measure: measureDebit,
}

// debitOfItsOwn gives each client a key: they do not repeat one debit, they make one each.
func debitOfItsOwn(of Request, n int) Request {
	of.Key = fmt.Sprintf("%s-%d", of.Key, n+1)
	return of
}

// opening is an account's balance before so many clients come: enough for all of them but the last, so that debits that are
// accepted and one that must be refused are always there to be got wrong.
func opening(amountCents int64, clients int) int64 {
	return amountCents*int64(max(1, clients-1)) + amountCents/2
}

func openAccount(ctx context.Context, db DB, of Request, clients int) error {
	_, err := db.Exec(ctx, `/* open */
		INSERT INTO conta (id, saldo_centavos)
		VALUES ($1, $2)
		ON CONFLICT (id) DO NOTHING`,
		of.OrderID, opening(of.AmountCents, clients))
	return err
}

// debitAnswer is what a client reads: the balance that it left or found, and how often it was tried.
type debitAnswer struct {
	BalanceCents int64 `json:"saldo_centavos"`
	Tries        int   `json:"tentativas"`
}

func (a debitAnswer) told(answer Answer, http int) Response {
	body, _ := json.Marshal(a) // two numbers: there is nothing in it that could fail
	return Response{answer, http, string(body)}
}

// debited and shortOfFunds are the two final answers to a debit.
func debited(balanceCents int64, tries int) Response {
	return debitAnswer{balanceCents, tries}.told(Charged, 201)
}

func shortOfFunds(balanceCents int64, tries int) Response {
	return debitAnswer{balanceCents, tries}.told(Declined, 402)
}

// mostDebitTries bounds how often a debit is run again: a client must be told something in the end. A service would pause in
// between.
const mostDebitTries = 10
