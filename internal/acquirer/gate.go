package acquirer

import (
	"context"
	"sync"
)

// Gate holds captures after they were recorded and before they are answered: the money has moved, the service does not know
// it yet. This is the moment that an engine stretches to force an order of events.
type Gate struct {
	arrivals chan struct{}
	open     chan struct{}
	once     sync.Once
}

// Hold puts a gate in front of every answer from now on. Captures that arrive earlier are not held.
func (a *Acquirer) Hold() *Gate {
	// Room for more arrivals than any forced order has: a sender must never wait for somebody to look.
	g := &Gate{arrivals: make(chan struct{}, 1024), open: make(chan struct{})}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gate = g
	return g
}

// Arrivals receives once for each capture that came to the gate.
func (g *Gate) Arrivals() <-chan struct{} { return g.arrivals }

// Open lets all captures pass, those held and those to come.
func (g *Gate) Open() { g.once.Do(func() { close(g.open) }) }

func (g *Gate) pass(ctx context.Context) error {
	select {
	case g.arrivals <- struct{}{}:
	default: // nobody counts that far
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
