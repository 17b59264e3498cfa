//go:build linux

package server_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
)

// shared makes a schema with one row that others may join.
func shared(t *testing.T, s *server.Server) *server.Schema {
	t.Helper()
	h, err := s.NewSchema(t.Context(), "CREATE TABLE t (n int); INSERT INTO t VALUES (7)")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Share(t.Context()); err != nil {
		t.Fatal(err)
	}
	return h
}

func join(t *testing.T, s *server.Server, name string) *server.Schema {
	t.Helper()
	h, err := s.Join(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func leave(t *testing.T, h *server.Schema) {
	t.Helper()
	if err := h.Leave(t.Context()); err != nil {
		t.Error(err)
	}
}

// A schema lives as long as anybody holds it, whoever made it, and no sweep takes it away meanwhile.
func TestTheLastOneOutDropsASharedSchema(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	maker := shared(t, s)
	other := join(t, open(t, server.Options{DSN: s.DSN()}), maker.Name())
	if got := query[int](t, connect(t, other.Config()), "SELECT n FROM t"); got != 7 {
		t.Errorf("the other one reads %d", got)
	}
	leave(t, maker)
	open(t, server.Options{DSN: s.DSN()}) // sweeps
	if !schemaExists(t, conn, maker.Name()) {
		t.Fatal("dropped while somebody held it")
	}
	leave(t, other)
	if schemaExists(t, conn, maker.Name()) {
		t.Error("the last one out has left it")
	}
	leave(t, other) // once more does nothing
	if !query[bool](t, conn, "SELECT pg_try_advisory_lock($1)", maker.Key()) {
		t.Error("its lock is still held")
	}
}

// Of two that leave at the same moment, one is the last.
func TestTwoLeaveAtOnce(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	for range 20 {
		a := shared(t, s)
		b := join(t, s, a.Name())
		var wg sync.WaitGroup
		for _, h := range []*server.Schema{a, b} {
			wg.Go(func() { leave(t, h) })
		}
		wg.Wait()
		if schemaExists(t, conn, a.Name()) {
			t.Fatal("each has left it to the other")
		}
	}
}

// What a killed process held can be held on to by the next, with its rows, if that one says so before it sweeps.
func TestASchemaOfAKilledProcessIsJoined(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	c := startChild(t, append(plainEnv("/tmp"), "IDEMLAB_DSN="+s.DSN()), "hold", "schema")
	name, ok := strings.CutPrefix(c.line(t), "ready ")
	if !ok {
		t.Fatal("the child has no schema")
	}
	if _, err := s.Join(t.Context(), name); err == nil || !strings.Contains(err.Error(), "to itself") {
		t.Errorf("joined a schema that is nobody else's: %v", err)
	}
	_ = c.cmd.Process.Kill()
	c.ended(t)
	query[string](t, conn, "SELECT concat(pg_advisory_lock(k), pg_advisory_unlock(k)) FROM CAST(('x' || $1)::bit(64) AS bigint) AS k", strings.TrimPrefix(name, "idemlab_"))
	next := open(t, server.Options{DSN: s.DSN(), Spare: name})
	h := join(t, next, name)
	open(t, server.Options{DSN: s.DSN()}) // one that does not spare it
	if !schemaExists(t, conn, name) {
		t.Fatal("dropped under the process that has joined it")
	}
	leave(t, h)
	if schemaExists(t, conn, name) {
		t.Error("it is still there")
	}
}

// Kept by any of them, it stays when all are gone.
func TestAKeptSchemaIsJoinedAndStays(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	a := shared(t, s)
	b := join(t, s, a.Name())
	b.Keep()
	leave(t, b)
	leave(t, a)
	leave(t, join(t, s, a.Name()))
	if !schemaExists(t, conn, a.Name()) {
		t.Fatal("it was dropped")
	}
	execSQL(t, conn, "DROP SCHEMA "+a.Name()+" CASCADE")
}

// Stop leaves what is shared to the others, and the maker's own Drop does not.
func TestStopLeavesAndDropDoesNotAsk(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	a := shared(t, s)
	run := open(t, server.Options{DSN: s.DSN()})
	join(t, run, a.Name())
	if err := run.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if !schemaExists(t, conn, a.Name()) {
		t.Fatal("dropped by one that had only joined")
	}
	b := join(t, s, a.Name())
	if err := a.Drop(t.Context()); err != nil || schemaExists(t, conn, a.Name()) {
		t.Errorf("not dropped: %v", err)
	}
	leave(t, b)
}

// The connection that holds the lock may die: leaving works all the same.
func TestLeavingAfterTheLockHasDied(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	h := shared(t, s)
	if !query[bool](t, conn, "SELECT pg_terminate_backend($1, 5000)", h.LockPID()) {
		t.Fatal("the backend did not end")
	}
	leave(t, h)
	if schemaExists(t, conn, h.Name()) {
		t.Error("it is still there")
	}
}

func TestJoinTakesOnlyOurs(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	there := shared(t, s)
	defer leave(t, there)
	const foreign = "idemlab_00000000000000ef"
	execSQL(t, conn, "CREATE SCHEMA "+foreign+"; COMMENT ON SCHEMA "+foreign+" IS 'mine'")
	afterwards(t, s, "DROP SCHEMA "+foreign)
	for _, name := range []string{foreign, "idemlab_00000000000000ee"} {
		if _, err := s.Join(t.Context(), name); err == nil || !strings.Contains(err.Error(), there.Name()) || server.IsUsage(err) {
			t.Errorf("%s: %v; it should name what is there", name, err)
		}
	}
	for _, name := range []string{"", "public", "idemlab_x", "idemlab_00000000000000EF", fmt.Sprint(there.Name(), "; DROP SCHEMA public")} {
		if _, err := s.Join(t.Context(), name); !server.IsUsage(err) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
