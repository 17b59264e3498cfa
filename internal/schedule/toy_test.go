package schedule

import (
	"context"
	"fmt"
	"slices"
)

// toy is a World without a database: sessions that run little programs over shared variables and locks.
type toy struct {
	vars    map[string]int
	owners  map[string][]int // of each lock, by session
	shared  map[string]bool
	queue   map[string][]int
	s       []*toySession
	deaths  int // still allowed
	retries int
	losses  int // of calls
}

type toySession struct {
	program []toyOp
	pc      int
	reg     int
	waits   bool
	log     string
	retried int
}

// toyOp is one step: r x reads, w x writes something that depends on what was read last, l x locks, s x locks together with
// others who do, u x unlocks, and ? skips
// the next step unless the last value read was 0; c x calls the acquirer, whose answer may be lost, and so may the request.
type toyOp struct {
	verb byte
	on   string
}

func newToy(programs [][]toyOp, deaths int) *toy {
	t := &toy{vars: map[string]int{}, owners: map[string][]int{}, shared: map[string]bool{}, queue: map[string][]int{}, deaths: deaths, retries: 1}
	for _, p := range programs {
		t.s = append(t.s, &toySession{program: p})
		t.s[len(t.s)-1].skip()
	}
	return t
}

// skip passes over the tests, which are no steps.
func (s *toySession) skip() {
	for s.pc < len(s.program) && s.program[s.pc].verb == '?' {
		s.pc++
		if s.reg != 0 {
			s.pc++
		}
	}
}

func (t *toy) Enabled() []Action {
	var out []Action
	for i, s := range t.s {
		if s.waits || s.pc >= len(s.program) {
			continue
		}
		out = append(out, Action{i, Step})
		if s.program[s.pc].verb == 'c' && t.losses > 0 {
			out = append(out, Action{i, LostRequest}, Action{i, LostReply})
		}
		if t.deaths > 0 && s.pc > 0 {
			out = append(out, Action{i, Die})
		}
	}
	return out
}

func (t *toy) Next(i int) string {
	op := t.s[i].program[t.s[i].pc]
	return string(op.verb) + op.on
}

func (t *toy) Do(_ context.Context, a Action) (Event, error) {
	s := t.s[a.Session]
	e := Event{Action: a, Step: t.Next(a.Session)}
	if a.Kind == Die {
		t.die(a.Session, &e)
		return e, nil
	}
	op := s.program[s.pc]
	switch op.verb {
	case 'r':
		s.reg = t.vars[op.on]
		e.Foot, e.Result = Touch(Access{op.on, Read}), fmt.Sprint(s.reg)
	case 'w':
		t.vars[op.on] = 10*t.vars[op.on] + s.reg + a.Session + 1
		e.Foot = Touch(Access{op.on, Lock | Publish})
	case 'l', 's':
		e.Foot = Touch(Access{op.on, Lock})
		if !t.free(op) {
			t.queue[op.on] = append(t.queue[op.on], a.Session)
			s.waits, e.Blocked = true, true
			return e, nil
		}
		t.take(op, a.Session)
	case 'c':
		if a.Kind != Step {
			t.losses--
			s.reg = 7
			e.Result = "lost"
		} else {
			s.reg = 0
		}
		if a.Kind != LostRequest {
			t.vars["c"]++
			e.Foot = Touch(Access{"@c", Lock | Publish})
		}
	case 'u':
		e.Foot = Touch(Access{op.on, Release})
		t.unlock(op.on, a.Session, &e)
	}
	s.log += e.Result + ","
	s.pc++
	s.skip()
	return e, nil
}

// free says whether a lock can be had: nobody has it, or all who do share it, as this one would, and nobody is in the queue.
func (t *toy) free(op toyOp) bool {
	return len(t.owners[op.on]) == 0 || op.verb == 's' && t.shared[op.on] && len(t.queue[op.on]) == 0
}

func (t *toy) take(op toyOp, session int) {
	t.owners[op.on] = append(t.owners[op.on], session)
	slices.Sort(t.owners[op.on])
	t.shared[op.on] = op.verb == 's'
}

func (t *toy) unlock(lock string, session int, e *Event) {
	i := slices.Index(t.owners[lock], session)
	if i < 0 {
		return
	}
	t.owners[lock] = slices.Delete(t.owners[lock], i, i+1)
	queue := t.queue[lock]
	t.queue[lock] = nil
	for len(queue) > 0 {
		s := t.s[queue[0]]
		op := s.program[s.pc]
		if !t.free(op) {
			break
		}
		t.take(op, queue[0])
		s.waits = false
		s.pc++
		s.skip()
		e.Woke = append(e.Woke, queue[0])
		queue = queue[1:]
	}
	t.queue[lock] = queue
	if len(queue) > 0 || len(e.Woke) > 0 { // whoever waits for two is let go by the second of them
		e.Foot = e.Foot.And(Touch(Access{lock, Lock}))
	}
}

func (t *toy) die(session int, e *Event) {
	t.deaths--
	for _, lock := range []string{"m", "n"} {
		for slices.Contains(t.owners[lock], session) {
			e.Foot = e.Foot.And(Touch(Access{lock, Release}))
			t.unlock(lock, session, e)
		}
	}
	s := t.s[session]
	s.log += "†"
	s.pc, s.reg = len(s.program), 0
	if s.retried < t.retries {
		s.retried++
		s.pc = 0
		s.skip()
	}
}

func (t *toy) outcome() string {
	out := fmt.Sprint(t.vars, t.owners)
	for _, s := range t.s {
		out += fmt.Sprint(" ", s.log, s.reg, s.waits)
	}
	return out
}

// explored is what a search saw.
type explored struct {
	outcomes map[string]bool
	classes  map[string]map[string]bool // to outcomes
	runs     int
	given_up int
	chance   float64 // of all the orders together to be walked at random
}

func explore(s Search, rel Relation, make func() *toy) (explored, error) {
	x := explored{outcomes: map[string]bool{}, classes: map[string]map[string]bool{}}
	for s.More() {
		w := make()
		r, err := s.Run(context.Background(), w)
		if err != nil {
			return x, err
		}
		if r.Redundant {
			x.given_up++
			continue
		}
		x.runs++
		x.chance += 1 / Stands(r)
		x.outcomes[w.outcome()] = true
		c := r.Class(rel)
		if x.classes[c] == nil {
			x.classes[c] = map[string]bool{}
		}
		x.classes[c][w.outcome()] = true
	}
	return x, nil
}

// differ says how the reduced search falls short of the full one; empty where it does not.
func differ(full, reduced explored) string {
	for c, outcomes := range full.classes {
		if len(outcomes) > 1 {
			return fmt.Sprintf("class %s has %d outcomes", c, len(outcomes))
		}
		if reduced.classes[c] == nil {
			return "lost class " + c
		}
	}
	for c := range reduced.classes {
		if full.classes[c] == nil {
			return "invented class " + c
		}
	}
	for o := range full.outcomes {
		if !reduced.outcomes[o] {
			return "lost outcome " + o
		}
	}
	return ""
}

func program(text string) []toyOp {
	var p []toyOp
	for i := 0; i < len(text); i += 2 {
		p = append(p, toyOp{text[i], text[i+1 : i+2]})
	}
	return p
}

func programs(texts ...string) [][]toyOp {
	var out [][]toyOp
	for _, t := range texts {
		out = append(out, program(t))
	}
	return slices.Clip(out)
}
