package explore

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	theacquirer "idemlab/internal/acquirer"
	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// world is one execution: fresh attempts of one intent on the engine's connections.
type world struct {
	e        *engine
	req      scenarios.Request
	ledger   *theacquirer.Acquirer
	acq      scenarios.Acquirer
	sessions []*session
	attempts []*attempt // of all of them, all that were begun
	mutexes  map[string]*mutex
	open     map[string]*batch // that can be joined
	deaths   int               // still allowed
	losses   int

	ctx     context.Context // the handlers'
	cancel  context.CancelFunc
	reports chan report
	gone    chan struct{} // closed when the world is over
	running sync.WaitGroup
	waits   int // begun so far

	ungated atomic.Pointer[error] // why nothing of this can be believed, if that is so

	trace []Turn
	rows  []scenarios.Row // as read at the end
	ended bool
}

var _ schedule.Named = (*world)(nil)

// mostTurns is far more than any schedule of a strategy that ends.
const mostTurns = 1000

// Enabled implements schedule.World. An answer under way comes first and alone: it touches nothing, so that its place among
// other sessions' steps cannot matter.
func (w *world) Enabled() []schedule.Action {
	var out []schedule.Action
	for _, s := range w.sessions {
		if s.state == answered {
			return s.enabled()
		}
		out = append(out, s.enabled()...)
	}
	return out
}

// Next implements schedule.Named.
func (w *world) Next(id int) string {
	if id < 0 || id >= len(w.sessions) {
		return ""
	}
	switch s := w.sessions[id]; s.state {
	case answered:
		return "answer"
	case parked:
		return schedule.Name(s.at.name)
	}
	return ""
}

// Do implements schedule.World.
func (w *world) Do(ctx context.Context, a schedule.Action) (schedule.Event, error) {
	s := w.sessions[a.Session]
	w.trace = append(w.trace, Turn{Session: a.Session, Kind: a.Kind, Step: w.Next(a.Session), Attempt: s.attempt.number})
	if s.state == parked {
		w.turn().SQL = s.at.verb
	}
	if len(w.trace) > mostTurns {
		return schedule.Event{}, fmt.Errorf("%w: a schedule does not end after %d steps: the strategy loops until another session has acted", errUngated, mostTurns)
	}
	began := time.Now()
	if err := w.act(ctx, s, a.Kind); err != nil {
		return schedule.Event{}, err
	}
	if err := w.settle(ctx); err != nil {
		return schedule.Event{}, err
	}
	turn := w.turn()
	turn.sortAnswers()
	if turn.Blocked {
		w.e.proofs = append(w.e.proofs, time.Since(began))
	}
	if id := turn.unexplained(); id >= 0 {
		return schedule.Event{}, fmt.Errorf("session %c %w: its wait ended though nobody gave anything back: a timeout?", 'A'+rune(id), errElsewhere)
	}
	w.notes()
	if err := w.look(ctx, turn); err != nil {
		return schedule.Event{}, err
	}
	return turn.event(a), nil
}

func (w *world) turn() *Turn { return &w.trace[len(w.trace)-1] }

// act sets the session going.
func (w *world) act(ctx context.Context, s *session, k schedule.Kind) error {
	switch {
	case k == schedule.Answer:
		s.end(nil)
		return nil
	case k == schedule.Die:
		return w.kill(ctx, s)
	}
	if k.Fault() {
		w.losses--
	}
	return w.grant(ctx, s, k)
}

func (w *world) grant(ctx context.Context, s *session, k schedule.Kind) error {
	if s.at.settled {
		return w.appear(ctx, s)
	}
	w.asks(s)
	switch s.at.kind {
	case opLock:
		if !w.takes(s) {
			return nil
		}
	case opUnlock:
		w.handOn(s, s.at.mutex)
	case opJoin:
		if !w.joins(s) {
			return nil
		}
	case opDepart:
		w.closes(s.at.batch)
	case opArrive:
		w.arrives(s.at.batch)
	}
	s.state = running
	s.blocked = blockage{}
	s.noticed.Store(false)
	select {
	case s.attempt.grant <- k:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kill ends an attempt without an answer, and with it those that share its batch. What they held is given back.
func (w *world) kill(ctx context.Context, s *session) error {
	w.deaths--
	dying := w.company(s)
	for _, d := range dying {
		if err := w.stop(ctx, d); err != nil {
			return err
		}
	}
	for _, d := range dying {
		for _, name := range slices.Sorted(maps.Keys(w.mutexes)) {
			w.handOn(d, name)
		}
		foot, err := d.clear(ctx, true)
		if err != nil {
			return fmt.Errorf("explore: clear up after a death: %w", err)
		}
		w.turn().touch(foot)
	}
	w.turn().Result, w.turn().gave = "dies", true
	for _, d := range dying[1:] {
		w.turn().made(d, &done{op{name: d.at.name}, "dies with " + string('A'+rune(s.id)), nil})
	}
	process := w.reborn(s)
	for _, d := range dying {
		d.end(process)
	}
	return nil
}

// stop ends an attempt's goroutine where it stands.
func (w *world) stop(ctx context.Context, s *session) error {
	if s.state == answered {
		return nil
	}
	select {
	case s.attempt.grant <- schedule.Die:
	case <-ctx.Done():
		return ctx.Err()
	}
	r, err := w.dying(ctx)
	if err != nil {
		return err
	}
	if r.a != s.attempt || !r.ended {
		return fmt.Errorf("session %c %w: its wait ended while another session died: a timeout?", 'A'+rune(r.a.s.id), errElsewhere)
	}
	s.blocked = blockage{}
	return nil
}

// dying waits for the report of an attempt that is to die. Where another goroutine than its handler's stood at the step, it is that
// one which ends, and nothing that ends the handler.
func (w *world) dying(ctx context.Context) (report, error) {
	limit := time.NewTimer(w.e.o.patience)
	defer limit.Stop()
	select {
	case r := <-w.reports:
		return r, nil
	case <-limit.C:
		w.cancel() // it may look at its context
		return report{}, fmt.Errorf("%w: the strategy makes a call in a goroutine of its own, and does not end when that dies", errUngated)
	case <-ctx.Done():
		return report{}, ctx.Err()
	}
}

// letGo wakes a session that waits for a mutex it now has.
func (w *world) letGo(s *session) {
	s.state = running
	s.blocked = blockage{}
	s.attempt.grant <- schedule.Step
}

func (w *world) anyone(in state) bool {
	return slices.ContainsFunc(w.sessions, func(s *session) bool { return s.state == in })
}
