package spec

import (
	"fmt"

	"idemlab/results"
)

// Outcome is how an order ended.
type Outcome int

const (
	Complete  Outcome = iota // every step of it came to its end
	Dropped                  // it cannot happen, and was left where that was seen
	Cancelled                // it cannot happen, and the steps that were in its way were cancelled
	CutOff                   // a step was cancelled because it took longer than the limit
)

// Order is what became of one permutation. Of those that nobody named and that cannot happen only those are here that were begun.
type Order struct {
	Permutation Permutation
	Outcome     Outcome
	Why         string     // "" for Complete
	Violation   *Violation // nil: the invariants held, or were not asked
}

// Violation is an invariant that returned rows.
type Violation struct {
	Permutation Permutation // its String is a line for the spec
	Invariant   string
	Rows        string // as a table
}

// Result is what a run came to.
type Result struct {
	// Verdict is empty when the spec states no invariant: then there is nothing to judge.
	Verdict  results.Verdict
	Reason   string // why it is inconclusive, or what there was nothing to judge by
	Orders   []Order
	Warnings []string // teardowns that failed
}

// First is the first violation, or nil.
func (r Result) First() *Violation {
	for _, o := range r.Orders {
		if o.Violation != nil {
			return o.Violation
		}
	}
	return nil
}

// Count says how many orders ended in this way.
func (r Result) Count(o Outcome) int {
	n := 0
	for _, order := range r.Orders {
		if order.Outcome == o {
			n++
		}
	}
	return n
}

// Violating says how many orders violated an invariant.
func (r Result) Violating() int {
	n := 0
	for _, order := range r.Orders {
		if order.Violation != nil {
			n++
		}
	}
	return n
}

// judge gives the verdict. A violation stays one, whatever came after it; held takes every order that was asked for and can happen.
func (r *Result) judge(s Spec, err error) {
	switch {
	case len(s.Invariants) == 0:
		r.Reason = "nothing to judge: the spec states no invariant (a line such as # invariant: SELECT ... that returns no row)"
	case r.First() != nil:
		r.Verdict = results.Violated
	case err != nil:
		r.Verdict, r.Reason = results.Inconclusive, "the run stopped early"
	case r.Count(CutOff) > 0:
		r.Verdict, r.Reason = results.Inconclusive, plural(r.Count(CutOff), "order")+" did not end within the time limit"
	case r.Count(Complete) == 0:
		r.Verdict, r.Reason = results.Inconclusive, "none of the orders can happen"
	default:
		r.Verdict = results.Held
		if n := r.Count(Dropped) + r.Count(Cancelled); n > 0 {
			r.Reason = fmt.Sprintf("in all that can happen; %s cannot", plural(n, "order"))
		}
	}
}
