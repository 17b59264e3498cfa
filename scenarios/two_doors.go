package scenarios

import "fmt"

// TwoDoors is what no key covers: one charge, asked for from two sides that know nothing of each other. The customer comes back from the
// payment page and the browser asks; the acquirer's webhook, or a job, asks as well. Each has a key of its own, and keeps it over its
// retries, as it should.
var TwoDoors = Scenario{
	Name:       "two-doors",
	Title:      "one order, finished by the browser's return and by the webhook, each with a key of its own: the acquirer must be told once",
	Strategies: twoDoorsStrategies,
	Control:    KeyPerDoor,
	Tables:     []string{"cobranca", "pedido"},
	Rows:       ChargeOnce.Rows,
	Unique:     KeyConstraint,
	Answers:    []Answer{Charged, Replayed, InProgress, Mismatched, Declined, Failed},
	Request: func(of Request, n int) Request {
		of.Key = fmt.Sprintf("%s-door-%d", of.Key, side(n)+1)
		return of
	},
	Check:    checkCharge,
	Model:    &chargeModel,
	Acquirer: true,
}
