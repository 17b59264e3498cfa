package explore

import (
	"cmp"
	"slices"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// Trace is one execution, turn by turn: what a picture of it needs.
type Trace struct {
	Schedule schedule.Schedule
	Prepared []string // what was sent beforehand, for rows that the strategy expects to find
	Sessions []string // what each runs: "client", or the name of the other function
	Turns    []Turn
	Outcome  Outcome
	doubt    string // why its good end says nothing, if that is so
}

// Turn is one step of one session.
type Turn struct {
	Session   int
	Kind      schedule.Kind
	Attempt   int      // of the session, from 1
	Step      string   // as in schedules: "claim"
	SQL       string   // for people: "INSERT cobranca"
	Sent      []string // what went to the server for it, with the arguments as literals; on replay only
	Result    string   // "1 row", "ERROR 40001", "captured"; empty while it waits
	Blocked   bool     // it waits
	BlockedBy []int    // for these sessions
	Woke      []Woken
	Answers   []Told          // that clients got in this turn
	Captures  int             // by the acquirer, so far
	Wishes    int             // that these were for
	Table     []scenarios.Row // committed rows, seen from outside after the turn; read on replay only
	foot      schedule.Footprint
	gave      bool // the session whose turn it is gave something back
}

// Woken is a session whose waiting step came back.
type Woken struct {
	Session int
	Step    string
	Result  string
}

// Told is what a client was told, or that its attempt died.
type Told struct {
	Session, Attempt int
	Answer           scenarios.Answer
	HTTP             int
	Body             string
	SQLState         string
	Died             bool
}

func (t *Turn) touch(f schedule.Footprint) { t.foot = t.foot.And(f) }

// made notes the step that s has made in this turn: its own, or one that it had waited with.
func (t *Turn) made(s *session, d *done) {
	t.touch(d.foot)
	if s.id == t.Session {
		t.Result = d.result
		t.gave = t.gave || d.foot.GivesBack()
		return
	}
	for i := range t.Woke {
		if t.Woke[i].Session == s.id {
			t.Woke[i].Step, t.Woke[i].Result = schedule.Name(d.name), d.result
			return
		}
	}
	t.Woke = append(t.Woke, Woken{s.id, schedule.Name(d.name), d.result})
}

// unexplained is a session that came back from a wait although nobody gave anything back; -1 if there is none. A deadlock that
// PostgreSQL breaks is an explanation; a timeout of the strategy's is none that can be put into an order.
func (t *Turn) unexplained() int {
	for _, w := range t.Woke {
		if w.Result == "ERROR 55P03" || w.Result == "ERROR 57014" { // lock_timeout, statement_timeout
			return w.Session
		}
	}
	if t.gave || slices.ContainsFunc(t.Woke, func(w Woken) bool { return w.Result == "ERROR 40P01" }) {
		return -1
	}
	for _, w := range t.Woke {
		return w.Session
	}
	return -1
}

// event is the turn as the search sees it.
func (t *Turn) event(a schedule.Action) schedule.Event {
	e := schedule.Event{Action: a, Step: t.Step, Foot: t.foot, Blocked: t.Blocked, Result: t.Result}
	woke := slices.Clone(t.Woke) // in which order they came back is not always PostgreSQL's to repeat
	slices.SortFunc(woke, func(a, b Woken) int { return cmp.Compare(a.Session, b.Session) })
	for _, w := range woke {
		e.Woke = append(e.Woke, w.Session)
		e.Result += "; " + w.Step + " " + w.Result
	}
	for _, b := range t.BlockedBy {
		e.Result += "; waits for " + string(rune('A'+b))
	}
	for _, told := range t.Answers {
		e.Result += "; " + string(told.Answer) + told.SQLState
	}
	return e
}

// sortAnswers: of two sessions that end in one turn, which report comes first is the Go scheduler's choice.
func (t *Turn) sortAnswers() {
	slices.SortStableFunc(t.Answers, func(a, b Told) int { return cmp.Compare(a.Session, b.Session) })
}

// answer notes what a client was told. What other functions return nobody is told.
func (w *world) answer(s *session, t told) {
	if !s.client && !t.Died {
		return
	}
	turn := w.turn()
	turn.Answers = append(turn.Answers, Told{
		Session: s.id, Attempt: s.attempt.number, Answer: t.Answer, HTTP: t.HTTP, Body: t.Body, SQLState: t.state, Died: t.Died,
	})
}
