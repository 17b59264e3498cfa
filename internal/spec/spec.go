// Package spec reads the spec format of PostgreSQL's isolationtester, runs the orders that a spec asks for on a real server,
// prints what isolationtester would print, and judges an invariant that isolationtester does not know.
//
//	setup    { CREATE TABLE account (id int PRIMARY KEY, cents int); INSERT INTO account VALUES (1, 100); }
//	teardown { DROP TABLE account; }
//	# invariant: SELECT id FROM account WHERE cents < 0
//	session s1
//	step r1 { SELECT cents FROM account; }
//	step w1 { UPDATE account SET cents = cents - 80; }
//	session s2
//	...
//	permutation r1 r2 w1 w2
//
// The format is PostgreSQL's (src/test/isolation/README). An invariant is one SELECT on one line of comment, so that
// isolationtester reads the same file; it must return no row when a permutation is over.
package spec

// Spec is one test: what is set up, who does what, and in which orders.
type Spec struct {
	Setup        []string // each a block of its own: what cannot run in one transaction with the rest
	Teardown     string   // "" when there is none
	Sessions     []Session
	Permutations []Permutation // none: every order that can happen
	Invariants   []string      // queries that must return no row
}

// Session is one connection and its steps, which it takes in this order when the orders are not named.
type Session struct {
	Name            string
	Setup, Teardown string // run before and after every permutation; "" when there is none
	Steps           []Step
}

// Step is one message to the server: a statement, or several with semicolons between them.
type Step struct{ Name, SQL string }

// Permutation is one order of steps. A step may be left out or come twice.
type Permutation []Turn

// Turn is a step at its place in an order, with what holds back the report that it is done.
type Turn struct {
	Step    string
	Markers []Marker
}

// Marker makes the output the same whichever of two sessions is faster.
type Marker struct {
	Kind    Kind
	Step    string // UntilDone, UntilNotices: a step of another session
	Notices int    // UntilNotices
}

// Kind says what a marker waits for.
type Kind int

const (
	Once         Kind = iota // (*): report the step as waiting, however fast it is
	UntilDone                // (other): not done before the other step is
	UntilNotices             // (other notices n): not done before the other step's session has sent n notices
)

// place is where a step is defined.
type place struct {
	session int
	step    Step
}

// places finds steps by name.
func (s Spec) places() map[string]place {
	found := map[string]place{}
	for i, session := range s.Sessions {
		for _, step := range session.Steps {
			found[step.Name] = place{i, step}
		}
	}
	return found
}
