package explore

import (
	"context"
	"fmt"
	"sync"

	theacquirer "idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// intent is the name by which the ledger knows the one intent of a world.
const intent = "intent"

// amountCents is what it is about: R$ 250.00, as in the articles.
const amountCents = 25000

// newWorld starts all attempts and returns when each stands before its first step.
func (e *engine) newWorld(ctx context.Context) (*world, error) {
	e.intents++
	w := &world{
		e: e, ledger: theacquirer.New(theacquirer.Options{Dedup: e.o.Strategy.WantsDedup}), mutexes: map[string]*mutex{}, open: map[string]*batch{},
		deaths: e.o.Crashes, losses: e.o.LostReplies,
		// A report for each session is the most that can be under way: its next comes after it was let go.
		reports: make(chan report, len(e.backends)), gone: make(chan struct{}),
		req: scenarios.Request{Key: fmt.Sprintf("explore-%d", e.intents), OrderID: e.intents, AmountCents: amountCents},
	}
	w.ctx, w.cancel = context.WithCancel(ctx)
	w.acq = w.ledger.For(intent)
	for i, h := range e.handlers(w.env) {
		s := &session{w: w, id: i, handler: h, client: i < e.o.Sessions, backend: e.backends[i]}
		w.sessions = append(w.sessions, s)
	}
	e.prepared.on.Store(e.watch)
	err := instance.Prepare(ctx, e.control, e.o.Scenario, e.o.Strategy, w.req, e.o.Sessions)
	e.prepared.on.Store(false)
	if err != nil {
		return w, fmt.Errorf("explore: %w", err)
	}
	if prepare := e.o.Prepare; prepare != nil {
		if err := prepare(ctx, e.control, w.req); err != nil {
			return w, fmt.Errorf("explore: prepare a schedule: %w", err)
		}
	}
	if err := e.learn(ctx); err != nil {
		return w, err
	}
	w.trace = append(w.trace, Turn{Session: -1})
	// One by one: what attempts do in their process's memory before their first step is no step, and must be in the same order each time.
	for _, s := range w.sessions {
		s.start()
		if err = w.settle(ctx); err != nil {
			break
		}
	}
	w.notes()
	w.trace = w.trace[:0]
	return w, err
}

// handlers deals the clients over fresh instances, and adds the other functions.
func (e *engine) handlers(env func(instance int) scenarios.Env) []scenarios.Handler {
	var out []scenarios.Handler
	for i := range e.o.Instances {
		h := e.o.Strategy.New(env(i))
		for len(out) < (i+1)*e.o.Sessions/e.o.Instances {
			out = append(out, h)
		}
	}
	for i, f := range e.o.Others {
		out = append(out, f.New(env(e.o.Instances+i), e.o.Strategy))
	}
	return out
}

// reborn is the process in which those go on that have died with s: a new one, which remembers nothing of the old, so that its locks
// and batches are others too. Its number is made of who died and at which attempt, not of how many died before: of two deaths, which
// comes first must not matter.
func (w *world) reborn(s *session) func() scenarios.Handler {
	e := w.e
	number := e.o.Instances + len(e.o.Others) + len(w.sessions)*(s.attempt.number-1) + s.id
	return sync.OnceValue(func() scenarios.Handler {
		if s.client {
			return e.o.Strategy.New(w.env(number))
		}
		return e.o.Others[s.id-e.o.Sessions].New(w.env(number), e.o.Strategy)
	})
}

func (w *world) env(instance int) scenarios.Env {
	return scenarios.Env{
		Now:   w.e.now,
		Every: w.e.every,
		Seed:  w.e.o.Seed + uint64(instance),
		Lease: w.e.o.Lease,
		Lock: func(ctx context.Context, name string) (func(), error) {
			return lock(ctx, w, fmt.Sprintf("%s-%d", name, instance))
		},
		Gather: func(ctx context.Context, db scenarios.DB, b scenarios.Batch, item any) (int, error) {
			return gather(ctx, w, fmt.Sprintf("%s-%d", b.Name, instance), db, b, item)
		},
	}
}
