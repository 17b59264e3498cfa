package scenarios

import (
	"context"
	"math/bits"
)

// Scenario is a situation: its tables, how requests come about in it, and the invariant by which what they left is judged.
// It is data and a checker. The engines run every scenario alike and know none of them by name.
type Scenario struct {
	Name  string
	Title string
	// Strategies are those of the scenario, in the order in which they are shown.
	Strategies func() []Strategy
	// Control is the strategy that must be caught on a server before any other is believed to hold there.
	Control Strategy
	// Harm is what the control must be caught at. Empty: at a double charge where money moves at the acquirer, elsewhere at the worst
	// that there is.
	Harm Anomaly
	// Clients is how many must come, at the least, for what the scenario is about to happen to two of one kind; 0 means two. Where fewer came
	// nothing is believed to hold.
	Clients int

	// Tables are those that a schema must make, the one to look at first in front.
	Tables []string
	// Rows is the query that reads back what attempts left, as columns of Row in its order. $1 is a number that the rows' ids
	// are above, $2 the least order whose rows are wanted.
	Rows string

	// Unique is the constraint on the key that decides who was first, which a strategy may do without. Empty where none decides.
	Unique string

	// Answers are those that strategies give here, Failed among them.
	Answers []Answer

	// Request makes the request of the nth client, from 0, out of the intent's own.
	Request func(of Request, n int) Request
	// Prepare makes what must be there before so many clients come with an intent's requests. It may be called again. Nil where the tables
	// are enough.
	Prepare func(ctx context.Context, db DB, of Request, clients int) error

	// Check judges one intent after its end, worst first. Nothing found is an empty slice. It looks nothing up.
	Check func(Intent) []Finding
	// Model is a second judge, which knows nothing of Check. Nil where a scenario has none.
	Model *Model
	// Measure counts what is the scenario's own; a name that ends in _cents is money. Nil where the common counts are enough.
	Measure func(Intent) map[string]int64

	// Acquirer says that money moves at the acquirer, so that its ledger is what counts.
	Acquirer bool
	// Followups says that an intent's key is to be tried again afterwards, as it was and for another amount, and its order
	// charged once more.
	Followups bool
}

// Model is a scenario's service as it would be if it took one request after another. An engine that knows the order in which
// clients asked and were answered looks for one such service that could have answered so.
type Model struct {
	// Init is the state before the first request.
	Init func(Intent) any
	// Attempt returns the states in which the service may be after an attempt ended so; none where it could not have.
	Attempt func(state any, a Attempt) []any
	// End says whether a service in that state could have left what there is.
	End func(state any, in Intent) bool
	// Sees are the anomalies that it must take exception to, and must not without one of them.
	Sees []Anomaly
}

// Scenario returns the scenario in whose list a strategy of that name stands. What stands in none, such as a strategy that is
// still being written, is taken for one of the first.
func (s Strategy) Scenario() Scenario {
	all := Scenarios()
	for _, c := range all {
		for _, known := range c.Strategies() {
			if known.Name == s.Name {
				return c
			}
		}
	}
	return all[0]
}

// TableOf is where a strategy of the scenario keeps what it works on.
func (c Scenario) TableOf(s Strategy) string {
	if s.Table != "" {
		return s.Table
	}
	return c.Tables[0]
}

// Least is Clients, or two.
func (c Scenario) Least() int { return max(c.Clients, 2) }

// side deals clients to two sides, 0 and 1: by whether their number has an odd count of ones (the sequence of Thue and Morse: 0 1 1 0 1 0
// 0 1 …). Taken in turn, as a load balancer takes instances, each side would have an instance of its own.
func side(n int) int64 { return int64(bits.OnesCount(uint(n)) % 2) }

// Alike says that every client of an intent sends the same request. Where they differ, whoever repeats one client's does not meet what the
// scenario is about.
func (c Scenario) Alike() bool {
	of := Request{Key: "k", OrderID: 1, AmountCents: 1}
	return c.Request(of, 0) == c.Request(of, 1)
}

// theSame makes every request of an intent a repetition.
func theSame(of Request, _ int) Request { return of }
