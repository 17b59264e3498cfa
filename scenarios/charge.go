package scenarios

// Scenario is a situation with its tables and its invariant. The strategies of All belong to one.
type Scenario struct {
	Name  string
	Title string
	// Control is the strategy that must be caught on a server before any other is believed to hold there.
	Control Strategy
	// Table is where the strategies keep their rows, with the columns of schema.sql.
	Table string
}

// KeyConstraint is the name that the article gives to the unique constraint on the key.
const KeyConstraint = "uq_cobranca_idempotency_key"

// ChargeOnce is the articles' situation: one intent, many attempts, money must move once.
var ChargeOnce = Scenario{
	Name:    "charge",
	Title:   "one payment intent, many attempts: the acquirer must be told once",
	Control: CheckThenAct,
	Table:   "cobranca",
}
