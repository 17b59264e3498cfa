//go:build linux

package server_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
)

func TestForeignServerIsNamedFirst(t *testing.T) {
	dsn := servertest.Server(t).DSN()
	for source, env := range map[string]string{"IDEMLAB_DSN": "IDEMLAB_DSN=", "DATABASE_URL": "DATABASE_URL="} {
		var said []string
		s := open(t, server.Options{Environ: []string{env + dsn}, Connections: 10,
			Say: func(f string, args ...any) { said = append(said, fmt.Sprintf(f, args...)) }})
		info := s.Info()
		if info.Source != source || info.Embedded || !strings.HasPrefix(said[0], "server: PostgreSQL "+info.Version+", "+source+" (user postgres, database postgres at socket /") ||
			!strings.Contains(said[0], "; not durable: fsync is off") {
			t.Errorf("%+v, said %q", info, said)
		}
	}
}

func TestForeignServerFromPGVariables(t *testing.T) {
	cfg := servertest.Server(t).Config()
	env := []string{"PGHOST=" + cfg.Host, "PGUSER=postgres", "PGDATABASE=postgres", "PGAPPNAME=x", "PGOPTIONS=-c search_path=public"}
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
	s := open(t, server.Options{Environ: env})
	if got := s.Info().Source; got != "PG* variables" {
		t.Errorf("source %q", got)
	}
	got := query[string](t, connect(t, s.Config()), "SELECT concat_ws(' ', current_setting('search_path'), current_setting('application_name'))")
	if got != "pg_catalog idemlab" {
		t.Errorf("the user's settings are in force: %q", got)
	}
	again := open(t, server.Options{DSN: s.DSN(), Environ: env}) // as a child process does
	if again.Config().Host != cfg.Host {
		t.Errorf("DSN leads to %s", again.Config().Host)
	}
}

// A server that was named and cannot be used is an error that says where the name came from and what to type.
func TestForeignServerThatWillNotDo(t *testing.T) {
	admin := servertest.Server(t)
	dsn := admin.DSN()
	conn := connect(t, admin.Config())
	execSQL(t, conn, "CREATE ROLE idemlab_plain LOGIN; CREATE ROLE idemlab_few LOGIN CONNECTION LIMIT 4; GRANT CREATE ON DATABASE postgres TO idemlab_few")
	afterwards(t, admin, "REVOKE CREATE ON DATABASE postgres FROM idemlab_few; DROP ROLE idemlab_plain; DROP ROLE idemlab_few")
	plain, few := loginAs(t, admin, "idemlab_plain"), loginAs(t, admin, "idemlab_few")
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := listener.Addr().String()
	_ = listener.Close()
	for _, c := range []struct {
		name, dsn   string
		connections int
		want        []string
	}{
		{"nobody listens", "postgres://u:s3cr3t@" + closed + "/d", 0, []string{"user u, database d at " + closed, "refused", "pg_isready"}},
		{"no such database", strings.Replace(dsn, "dbname=postgres", "dbname=nowhere", 1), 0, []string{"nowhere", "createdb"}},
		{"no such role", strings.Replace(dsn, "user=postgres", "user=nobody password=s3cr3t", 1), 0, []string{"user nobody", "check user and password"}},
		{"a word that is a setting to the server", dsn + " connection_limit=5", 0, []string{`"connection_limit"`, "remove the word"}},
		{"a role that may not create", plain, 0, []string{`GRANT CREATE ON DATABASE "postgres" TO "idemlab_plain"`}},
		{"read-only", dsn + " default_transaction_read_only=on", 0, []string{"default_transaction_read_only = off"}},
		{"too few connections", dsn, 5000, []string{"needs 5000 connections", "max_connections is 310, 0 of them reserved, ", " in use by others", "fewer", "--pool, --attempts, --clients"}},
		{"too few for the role", few, 10, []string{"CONNECTION LIMIT is 4, 0 in use", "6 fewer"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := server.Open(t.Context(), server.Options{Environ: []string{"DATABASE_URL=" + c.dsn}, Connections: c.connections, Say: t.Logf})
			if err == nil || server.IsUsage(err) {
				t.Fatalf("got %v", err)
			}
			for _, want := range append(c.want, "DATABASE_URL") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is missing in: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), "s3cr3t") {
				t.Errorf("a secret in: %v", err)
			}
			t.Log(err)
		})
	}
}

// A role that is no superuser, with the one right it needs, can do everything; and it does not stumble over leftovers
// that belong to somebody else.
func TestForeignServerAsPlainRole(t *testing.T) {
	admin := servertest.Server(t)
	conn := connect(t, admin.Config())
	tag := query[string](t, conn, "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = $1", servertest.Schema(t, "").Name())
	execSQL(t, conn, "CREATE ROLE idemlab_app LOGIN; GRANT CREATE ON DATABASE postgres TO idemlab_app;"+
		"CREATE SCHEMA idemlab_00000000000000cc; COMMENT ON SCHEMA idemlab_00000000000000cc IS '"+tag+"'")
	afterwards(t, admin, "DROP SCHEMA idemlab_00000000000000cc; REVOKE CREATE ON DATABASE postgres FROM idemlab_app; DROP ROLE idemlab_app")
	var said []string
	s := open(t, server.Options{DSN: loginAs(t, admin, "idemlab_app"), Connections: 20,
		Say: func(f string, args ...any) { said = append(said, fmt.Sprintf(f, args...)) }})
	if s.Info().Superuser || len(said) != 1 {
		t.Errorf("%+v, said %q", s.Info(), said)
	}
	h, err := s.NewSchema(t.Context(), "CREATE TABLE t ()")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Drop(t.Context()); err != nil {
		t.Error(err)
	}
}

// loginAs lets this process in as another role too, and returns the connection string for it.
func loginAs(t *testing.T, s *server.Server, role string) string {
	t.Helper()
	path := filepath.Join(s.Folder(), "data", "pg_ident.conf")
	first, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(first), "\n")
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if _, err := fmt.Fprintln(f, strings.Replace(line, `"postgres"`, role, 1)); err != nil {
		t.Fatal(err)
	}
	execSQL(t, connect(t, s.Config()), "SELECT pg_reload_conf()")
	dsn := strings.Replace(s.DSN(), "user=postgres", "user="+role, 1)
	for deadline := time.Now().Add(waitLimit); ; {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err == nil {
			pid := conn.PgConn().PID()
			_ = conn.Close(t.Context())
			for admin := connect(t, s.Config()); query[bool](t, admin, "SELECT count(*) > 0 FROM pg_stat_activity WHERE pid = $1", pid); {
			}
			return dsn
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
