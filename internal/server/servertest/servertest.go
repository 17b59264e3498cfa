// Package servertest gives tests a real PostgreSQL: one throwaway server per test binary, one schema per test.
//
//	func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		schema := servertest.Schema(t, ddl)
//		conn, err := pgx.ConnectConfig(t.Context(), schema.Config())
package servertest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
)

// connections is plenty for a test binary: schemas of parallel tests and their pools.
const connections = 300

// startLimit is what a start may take; a busy machine needs 8 s.
const startLimit = 60 * time.Second

// shared is the one way from TestMain to the tests: package testing hands nothing over. Only Main sets it, before
// any test runs, and nothing changes it afterwards.
var shared *holder

// holder starts the server when the first test asks for it, so that tests that need none do not wait for one.
type holder struct {
	once   sync.Once
	server *server.Server
	err    error
}

func (h *holder) start() {
	ctx, cancel := context.WithTimeout(context.Background(), startLimit)
	defer cancel()
	h.server, h.err = server.Open(ctx, server.Options{
		Fast:        true, // tests check what is answered, not how fast: a commit need not reach a disk
		Connections: connections,
		Environ:     embeddedOnly(os.Environ()),
		Say:         func(string, ...any) {}, // go test shows stderr of passing packages too
	})
}

// embeddedOnly hides a server of the user's: tests must not write into whatever DATABASE_URL happens to name.
func embeddedOnly(env []string) []string {
	var out []string
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if name != "IDEMLAB_DSN" && name != "DATABASE_URL" && !strings.HasPrefix(name, "PG") {
			out = append(out, kv)
		}
	}
	return out
}

// Main is for TestMain: it runs the tests and returns the exit code.
//
// The test binary is also started again for other purposes. When it is as the server's supervisor, Main does that;
// otherwise each hook is asked whether it knows the arguments (os.Args without the program's name) and, if it says
// so, its code is the result. The server is stopped after the tests, also when one panics.
func Main(m *testing.M, hooks ...func(args []string) (code int, handled bool)) (code int) {
	if args := os.Args[1:]; server.IsSupervisor(args) {
		return server.Supervise(args, os.Stdin, os.Stderr)
	}
	if os.Getenv("GORACE") == "" {
		// A program built with -race sleeps for a second when it ends; the tests' own children need not.
		_ = os.Setenv("GORACE", "atexit_sleep_ms=0")
	}
	for _, hook := range hooks {
		if code, handled := hook(os.Args[1:]); handled {
			return code
		}
	}
	shared = &holder{}
	defer func() { // a panic in a test ends the process without this; the supervisor sees that, and cleans up
		if shared.server == nil {
			return
		}
		if err := shared.server.Stop(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "servertest: stopping the server:", err)
			code = max(code, 1)
		}
	}()
	return m.Run()
}

// Server returns the test binary's server, superuser and not durable; the first call starts it. When none can
// be started the test fails: skipping would leave everything unproven, and green.
func Server(t testing.TB) *server.Server {
	t.Helper()
	if shared == nil {
		t.Fatal("servertest: this package needs: func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }")
	}
	shared.once.Do(shared.start)
	if shared.err != nil {
		t.Fatalf("servertest: these tests need a PostgreSQL: %v\n  to install one: %s", shared.err, server.InstallCommand())
	}
	return shared.server
}

// Schema creates a schema with the tables of ddl, and drops it when the test is over.
func Schema(t testing.TB, ddl string) *server.Schema {
	t.Helper()
	schema, err := Server(t).NewSchema(t.Context(), ddl)
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	t.Cleanup(func() {
		if err := schema.Drop(context.Background()); err != nil {
			t.Errorf("servertest: %v", err)
		}
	})
	return schema
}

// Quiet switches autovacuum off on the test binary's server, for good, and returns when none is at work any more: for tests that count what
// the server writes.
func Quiet(t testing.TB) *server.Server {
	t.Helper()
	srv := Server(t)
	conn, err := pgx.ConnectConfig(t.Context(), srv.Config())
	if err != nil {
		t.Fatalf("servertest: %v", err)
	}
	defer server.CloseConn(t.Context(), conn)
	for _, sql := range []string{`ALTER SYSTEM SET autovacuum = off`, `SELECT pg_reload_conf()`} {
		if _, err := conn.Exec(t.Context(), sql); err != nil {
			t.Fatalf("servertest: %s: %v", sql, err)
		}
	}
	for busy := true; busy; {
		err := conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum%')`).Scan(&busy)
		if err != nil {
			t.Fatalf("servertest: look for autovacuum: %v", err)
		}
	}
	return srv
}
