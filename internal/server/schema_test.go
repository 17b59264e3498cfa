//go:build linux

package server_test

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
)

func schemaExists(t *testing.T, conn *pgx.Conn, name string) bool {
	return query[bool](t, conn, "SELECT count(*) > 0 FROM pg_namespace WHERE nspname = $1", name)
}

func TestSchemaIsTheWholeSearchPath(t *testing.T) {
	s := servertest.Server(t)
	h := servertest.Schema(t, "CREATE TABLE t (n int); INSERT INTO t VALUES (7); SET search_path TO public; SET work_mem = '9MB'")
	if !regexp.MustCompile(`^idemlab_[0-9a-f]{16}$`).MatchString(h.Name()) {
		t.Errorf("name %q", h.Name())
	}
	conn := connect(t, h.Config())
	if got := query[int](t, conn, "SELECT n FROM t"); got != 7 {
		t.Errorf("got %d", got)
	}
	got := query[string](t, conn, "SELECT concat_ws(' ', current_setting('search_path'), current_setting('application_name'))")
	if got != h.Name()+" idemlab" {
		t.Errorf("got %q", got)
	}
	if query[bool](t, connect(t, s.Config()), "SELECT pg_try_advisory_lock($1)", h.Key()) {
		t.Error("its lock is free: another run would drop it")
	}
	h.Config().RuntimeParams["search_path"] = "changed"
	if h.Config().RuntimeParams["search_path"] != h.Name() {
		t.Error("Config hands out its own map")
	}
}

func TestSchemaDrop(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	for name, before := range map[string]func(*server.Schema) context.Context{
		"as usual": func(*server.Schema) context.Context { return t.Context() },
		"after Ctrl-C": func(*server.Schema) context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		},
		"when its connection has died": func(h *server.Schema) context.Context {
			if !query[bool](t, conn, "SELECT pg_terminate_backend($1, 5000)", h.LockPID()) {
				t.Error("the backend did not end")
			}
			return t.Context()
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, err := s.NewSchema(t.Context(), "CREATE TABLE t ()")
			if err != nil {
				t.Fatal(err)
			}
			ctx := before(h)
			if err := h.Drop(ctx); err != nil {
				t.Error(err)
			}
			if schemaExists(t, conn, h.Name()) {
				t.Error("it is still there")
			}
			if err := h.Drop(ctx); err != nil {
				t.Errorf("a second time: %v", err)
			}
			if !query[bool](t, conn, "SELECT pg_try_advisory_lock($1)", h.Key()) {
				t.Error("its lock is still held")
			}
		})
	}
}

// A session that still works in the schema delays the drop, but not for ever.
func TestSchemaDropSaysWhatIsInTheWay(t *testing.T) {
	t.Parallel() // it waits for a limit of 5 s
	s := servertest.Server(t)
	h, err := s.NewSchema(t.Context(), "CREATE TABLE t ()")
	if err != nil {
		t.Fatal(err)
	}
	busy := connect(t, h.Config())
	execSQL(t, busy, "BEGIN")
	execSQL(t, busy, "LOCK TABLE t")
	err = h.Drop(t.Context())
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "55P03" || !strings.Contains(err.Error(), h.Name()) || !strings.Contains(err.Error(), "the next run drops it") {
		t.Errorf("got %v", err)
	}
	execSQL(t, busy, "ROLLBACK")
	open(t, server.Options{DSN: s.DSN()}) // the next run
	if schemaExists(t, connect(t, s.Config()), h.Name()) {
		t.Error("the next run did not drop it")
	}
}

func TestSchemaWithBrokenDDL(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	before := query[int](t, conn, "SELECT count(*) FROM pg_namespace")
	_, err := s.NewSchema(t.Context(), "-- ação\nCREATE TABLE a ();\n\nCREATE TABEL b ();\n")
	var ddl *server.DDLError
	var pg *pgconn.PgError
	if !errors.As(err, &ddl) || ddl.Line != 4 || !errors.As(err, &pg) || pg.Code != "42601" || !strings.Contains(err.Error(), "at line 4") {
		t.Errorf("got %v", err)
	}
	if after := query[int](t, conn, "SELECT count(*) FROM pg_namespace"); after != before {
		t.Error("the schema is still there")
	}
}

func TestSchemaKept(t *testing.T) {
	s := servertest.Server(t)
	h, err := s.NewSchema(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	h.Keep()
	if err := h.Drop(t.Context()); err != nil {
		t.Error(err)
	}
	open(t, server.Options{DSN: s.DSN()}) // a later run
	conn := connect(t, s.Config())
	if !schemaExists(t, conn, h.Name()) {
		t.Fatal("it was dropped")
	}
	execSQL(t, conn, "DROP SCHEMA "+h.Name())
}

// A later run drops what is tagged and free, and nothing else.
func TestSweep(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	tag := query[string](t, conn, "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = $1", servertest.Schema(t, "").Name())
	live := servertest.Schema(t, "")
	c := startChild(t, append(plainEnv("/tmp"), "IDEMLAB_DSN="+s.DSN()), "hold", "schema")
	killed, ok := strings.CutPrefix(c.line(t), "ready ")
	if !ok {
		t.Fatal("the child has no schema")
	}
	spared := map[string]string{ // name → comment
		"idemlab_x":                     tag,
		"idemlab_00000000000000aa":      "",
		"idemlab_00000000000000ab":      tag + " ",
		"idemlab_00000000000000ac_more": tag,
		"other":                         tag,
		live.Name():                     tag,
	}
	for name, comment := range spared {
		if name != live.Name() {
			execSQL(t, conn, "CREATE SCHEMA "+name+"; COMMENT ON SCHEMA "+name+" IS '"+comment+"'")
			afterwards(t, s, "DROP SCHEMA "+name)
		}
	}
	open(t, server.Options{DSN: s.DSN()})
	if !schemaExists(t, conn, killed) {
		t.Fatal("the schema of a run that lives was dropped")
	}
	_ = c.cmd.Process.Kill()
	c.ended(t)
	// The server notices the end of a connection a moment later: wait for the lock, which ends with it.
	query[string](t, conn, "SELECT concat(pg_advisory_lock(k), pg_advisory_unlock(k)) FROM CAST(('x' || $1)::bit(64) AS bigint) AS k", strings.TrimPrefix(killed, "idemlab_"))
	var said []string
	open(t, server.Options{DSN: s.DSN(), Say: func(f string, args ...any) { said = append(said, f) }})
	if schemaExists(t, conn, killed) {
		t.Errorf("%s is still there; said %q", killed, said)
	}
	if len(said) != 2 {
		t.Errorf("a drop that nobody is told about: %q", said)
	}
	for name := range spared {
		if !schemaExists(t, conn, name) {
			t.Errorf("%s was dropped", name)
		}
	}
}

// Runs that start at once sweep the same leftovers and create their own: each leftover is dropped once, and nobody
// loses a schema or gets an error.
func TestSweepsAtOnce(t *testing.T) {
	s := servertest.Server(t)
	conn := connect(t, s.Config())
	tag := query[string](t, conn, "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = $1", servertest.Schema(t, "").Name())
	const runs, leftovers = 6, 10
	var names []string
	for i := range leftovers {
		name := "idemlab_0000000000000b0" + string(rune('0'+i))
		execSQL(t, conn, "CREATE SCHEMA "+name+"; CREATE TABLE "+name+".t (); COMMENT ON SCHEMA "+name+" IS '"+tag+"'")
		names = append(names, name)
	}
	dropped, errs := make(chan int, runs), make(chan error, runs)
	for range runs {
		go func() {
			n := 0
			run, err := server.Open(t.Context(), server.Options{DSN: s.DSN(), Say: func(f string, args ...any) {
				if strings.Contains(f, "dropped %d") {
					n = args[0].(int)
				} else if strings.Contains(f, "could not") {
					t.Errorf(f, args...)
				}
			}})
			if err == nil {
				var h *server.Schema
				if h, err = run.NewSchema(t.Context(), "CREATE TABLE t ()"); err == nil {
					err = h.Drop(t.Context())
				}
				err = errors.Join(err, run.Stop(t.Context()))
			}
			dropped <- n
			errs <- err
		}()
	}
	total := 0
	for range runs {
		total += <-dropped
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if total != leftovers {
		t.Errorf("%d drops of %d leftovers", total, leftovers)
	}
	for _, name := range names {
		if schemaExists(t, conn, name) {
			t.Errorf("%s is still there", name)
		}
	}
}

// Stop of a run on the user's server leaves nothing of the run's there.
func TestSchemaDroppedByStop(t *testing.T) {
	s := servertest.Server(t)
	run := open(t, server.Options{DSN: s.DSN()})
	h, err := run.NewSchema(t.Context(), "CREATE TABLE t ()")
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if schemaExists(t, connect(t, s.Config()), h.Name()) {
		t.Error("it is still there")
	}
}

// A server that ends idle sessions would end the one that holds the lock, and another run would drop the schema.
func TestSchemaLockOutlivesTheIdleTimeout(t *testing.T) {
	s := servertest.Server(t)
	run := open(t, server.Options{DSN: s.DSN() + " idle_session_timeout=50"})
	h, err := run.NewSchema(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	control := connect(t, run.Config()) // later than the lock's, and as idle: when it has been ended, so would have been the other
	_, err = control.WaitForNotification(t.Context())
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || pg.Code != "57P05" {
		t.Fatalf("the idle session was not ended: %v", err)
	}
	if query[bool](t, connect(t, s.Config()), "SELECT pg_try_advisory_lock($1)", h.Key()) {
		t.Error("the lock is free")
	}
}

// A Ctrl-C at any moment of NewSchema leaves no schema.
func TestSchemaCreationCancelled(t *testing.T) {
	s := servertest.Server(t)
	const sql = "SELECT count(*)::int FROM pg_namespace WHERE nspname LIKE 'idemlab%'"
	conn := connect(t, s.Config())
	before := query[int](t, conn, sql)
	cancelled := 0
	for i := range 100 {
		// From nothing to more than it takes: no event marks the moments in between.
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		h, err := s.NewSchema(ctx, "CREATE TABLE t (); CREATE TABLE u ()")
		if err != nil {
			cancelled++
		} else if err := h.Drop(ctx); err != nil {
			t.Error(err)
		}
		cancel()
	}
	if after := query[int](t, conn, sql); after != before || cancelled == 0 {
		t.Errorf("%d schemas left of %d creations that were cancelled", after-before, cancelled)
	}
}
