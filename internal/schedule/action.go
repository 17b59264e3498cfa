package schedule

import "fmt"

// Kind is what happens to a session whose turn it is.
type Kind uint8

// The kinds. All but Step and Answer are faults.
const (
	Step        Kind = iota // the session runs its next step
	LostRequest             // its request to the acquirer never arrives, and its caller learns nothing
	LostReply               // the acquirer does what it was asked, and its caller learns nothing
	Die                     // the session dies before its next step
	Answer                  // its answer reaches the client: never written down, for it is only there as the alternative to Die
)

// Fault says whether the kind is something that befell the session, rather than its own doing.
func (k Kind) Fault() bool { return k == LostRequest || k == LostReply || k == Die }

// Action is one choice: this session, in this manner. Sessions count from 0.
type Action struct {
	Session int
	Kind    Kind
}

// Event is an Action that has been carried out.
type Event struct {
	Action
	Step    string    // the name of the step: "claim", "capture", "commit"
	Foot    Footprint // what it touched, and what the steps that it woke touched
	Blocked bool      // it did not come back: the session waits
	Woke    []int     // the sessions whose waiting steps came back because of it, in the order in which they did
	Result  string    // what came back, in a form that is the same whenever the same thing happens
}

// String is for messages: what was done, what came of it and what it touched.
func (e Event) String() string {
	return fmt.Sprintf("%s (%q, blocked %v, woke %v, touched %v)", Item{e.Action, e.Step}, e.Result, e.Blocked, e.Woke, []Access(e.Foot))
}

func (e Event) same(f Event) bool {
	return e.Action == f.Action && e.Step == f.Step && e.Blocked == f.Blocked && e.Result == f.Result &&
		equal(e.Woke, f.Woke) && equal(e.Foot, f.Foot)
}

func (e Event) woke(session int) bool {
	for _, s := range e.Woke {
		if s == session {
			return true
		}
	}
	return false
}

func equal[T comparable](a, b []T) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
