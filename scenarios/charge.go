package scenarios

// KeyConstraint is the name that the article gives to the unique constraint on the key.
const KeyConstraint = "uq_cobranca_idempotency_key"

// ChargeOnce is the articles' situation: one intent, many attempts, money must move once.
var ChargeOnce = Scenario{
	Name:       "charge",
	Title:      "one payment intent, many attempts: the acquirer must be told once",
	Strategies: chargeStrategies,
	Control:    CheckThenAct,
	Tables:     []string{"cobranca"},
	Rows: `
		SELECT id, idempotency_key, pedido_id, valor_centavos, status,
		       coalesce(resposta_http, 0), coalesce(resposta_corpo::text, ''), 0::bigint
		  FROM cobranca
		 WHERE id > $1
		   AND pedido_id >= $2
		 ORDER BY id`,
	Unique:    KeyConstraint,
	Answers:   []Answer{Charged, Replayed, InProgress, Mismatched, Declined, Failed},
	Request:   theSame,
	Check:     checkCharge,
	Model:     &chargeModel,
	Acquirer:  true,
	Followups: true,
}
