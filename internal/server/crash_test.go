//go:build linux

package server_test

import (
	"testing"

	"idemlab/internal/server"
)

// After a crash the server is back, with what was committed and without anybody's connection. It may crash again.
func TestCrashKeepsWhatWasCommitted(t *testing.T) {
	tmp := tmpFolder(t)
	s := open(t, server.Options{Environ: plainEnv(tmp)})
	schema, err := s.NewSchema(t.Context(), `CREATE TABLE t AS SELECT 1 AS n`)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		before := connect(t, schema.Config())
		started := query[string](t, before, `SELECT pg_postmaster_start_time()::text`)
		if err := s.Crash(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := before.Ping(t.Context()); err == nil {
			t.Error("a connection outlived the crash")
		}
		after := connect(t, schema.Config())
		if n := query[int](t, after, `SELECT count(*)::int FROM t`); n != 1 {
			t.Errorf("%d rows", n)
		}
		if again := query[string](t, after, `SELECT pg_postmaster_start_time()::text`); again != started {
			t.Errorf("the postmaster itself was started anew: %s, %s", started, again)
		}
	}
	if err := schema.Drop(t.Context()); err != nil { // the connection that held its lock is gone
		t.Error(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if left := traces(tmp); len(left) > 0 {
		t.Errorf("there is still: %v", left)
	}
}
