//go:build linux

package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
)

// Under a context that has ended a turn is had or refused at once, so that nothing here is a matter of time.
func TestTurnsAreOneAfterAnother(t *testing.T) {
	var mu sync.Mutex
	said := map[string]int{}
	opened := func(name string) *server.Server {
		return open(t, server.Options{DSN: servertest.Server(t).DSN(), Say: func(f string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			if strings.Contains(fmt.Sprintf(f, args...), "waits for another run in database postgres") {
				said[name]++
			}
		}})
	}
	one, other := opened("one"), opened("other")
	schema := func(s *server.Server) *server.Schema {
		h, err := s.NewSchema(t.Context(), "CREATE TABLE t ()")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Drop(context.Background()) })
		return h
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	refused := func(h *server.Schema, why string) {
		t.Helper()
		if err := h.TakeTurn(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", why, err)
		}
	}
	a, b, c := schema(one), schema(one), schema(other)
	if err := a.TakeTurn(ended); err != nil {
		t.Fatalf("a free turn is refused: %v", err)
	}
	refused(b, "another of the process has it")
	refused(c, "another process has it")
	refused(c, "another process has it")
	if said["one"] != 0 || said["other"] != 1 {
		t.Errorf("said %v: once, and only where another process is waited for", said)
	}

	// Waiting is no matter of the server's: no lock is asked for that would have to be waited for, and no snapshot held.
	waits := make(chan error, 1)
	go func() { waits <- c.TakeTurn(t.Context()) }()
	admin := connect(t, servertest.Server(t).Config())
	for range 100 {
		if query[bool](t, admin, "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted)") {
			t.Fatal("a run that waits for its turn waits in the server")
		}
	}
	if err := a.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	refused(b, "it went to the other process")
	c.LetGo(t.Context())

	// The turn goes with whoever had it, also where nobody gives it back.
	if err := b.TakeTurn(ended); err != nil {
		t.Fatal(err)
	}
	query[bool](t, admin, "SELECT pg_terminate_backend($1, 10000)", b.LockPID())
	d := schema(other)
	if err := d.TakeTurn(ended); err != nil {
		t.Errorf("a dead run keeps the turn: %v", err)
	}
	if err := b.Drop(t.Context()); err != nil {
		t.Error(err)
	}
	refused(schema(one), "another process has it")
	if err := d.Drop(t.Context()); err != nil {
		t.Error(err)
	}
	if err := schema(one).TakeTurn(ended); err != nil {
		t.Errorf("a schema whose lock had died kept its process's turn: %v", err)
	}
}
