package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"idemlab/cmd"
	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
	"idemlab/results"
)

// TestMain makes the test binary the tool, too: scripts call it by name, and it starts itself again as supervisor and instance.
func TestMain(m *testing.M) {
	testscript.Main(withServer{m}, map[string]func(){
		"idemlab": func() { main() },
	})
}

type withServer struct{ m *testing.M }

func (w withServer) Run() int {
	// Scripts interrupt what they start. Where these tests run with SIGINT ignored, as in a script's background, their children would inherit
	// that, and honour it; a signal that is caught they do not inherit.
	if signal.Ignored(os.Interrupt) {
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	return servertest.Main(w.m, func(args []string) (int, bool) {
		return cmd.Instance(args, os.Stdin, os.Stdout, os.Stderr)
	})
}

// The command line against a server that the tool did not start, as a user's would be. Scripts run side by side, each in a
// database of its own, so that each sees what it left behind and nobody else.
func TestScripts(t *testing.T) {
	srv := servertest.Server(t)
	reference, err := filepath.Abs(filepath.Join("results", "reference"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			name, err := newDatabase(srv)
			if err != nil {
				return err
			}
			e.Setenv("IDEMLAB_DSN", srv.DSN()+" dbname="+name)
			e.Setenv("DBNAME", name)
			e.Setenv("REFERENCE", reference)
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			return nil
		},
		Cmds: scriptCommands(srv.Config()),
	})
}

// never is how long what is waited for may take on a machine that is busy with ten other things; after that it does not come.
const never = 2 * time.Minute

func newDatabase(srv *server.Server) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), never)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, srv.Config())
	if err != nil {
		return "", err
	}
	defer conn.Close(ctx)
	name := "script_" + strings.ToLower(rand.Text())
	_, err = conn.Exec(ctx, "CREATE DATABASE "+name)
	return name, err
}

// The command line with nothing set up: the tool starts its own server.
func TestEmbeddedScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/embedded",
		Setup: func(e *testscript.Env) error {
			e.Setenv("GORACE", "atexit_sleep_ms=0")
			e.Setenv("IDEMLAB_NO_DOWNLOAD", "1")
			return nil
		},
		Cmds: scriptCommands(servertest.Server(t).Config()),
	})
}

type command = func(ts *testscript.TestScript, neg bool, args []string)

func scriptCommands(cfg *pgx.ConnConfig) map[string]command {
	return map[string]command{
		"address":         address,
		"exits":           exits,
		"document":        document,
		"plain":           plain,
		"xml":             strictXML,
		"attempts":        func(ts *testscript.TestScript, _ bool, args []string) { waitForAttempts(ts, cfg, args) },
		"needs":           needs,
		"gone":            func(ts *testscript.TestScript, _ bool, _ []string) { gone(ts, cfg) },
		"running":         func(ts *testscript.TestScript, _ bool, args []string) { waitForStatement(ts, cfg, args[0]) },
		"noschemas":       func(ts *testscript.TestScript, _ bool, _ []string) { noSchemas(ts, cfg) },
		"isolationtester": func(ts *testscript.TestScript, _ bool, args []string) { isolationtester(ts, cfg, args[0]) },
		"sql":             func(ts *testscript.TestScript, _ bool, args []string) { runSQL(ts, cfg, args) },
	}
}

// exits CODE COMMAND…: the command ends with exactly that code.
func exits(ts *testscript.TestScript, _ bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d\nstdout:\n%s\nstderr:\n%s", got, want, ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// address FILE NAME: waits until a command that serves has said in FILE where, and puts the URL into NAME and host and port
// into NAME_ADDR. With a third name its first line is that of a mail server, and goes into that.
func address(ts *testscript.TestScript, _ bool, args []string) {
	for deadline := time.Now().Add(never); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) { // a file cannot be waited for
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		said := string(text)
		if len(args) > 2 {
			url, rest, _ := strings.Cut(said, "\n")
			ts.Setenv(args[2], url)
			said = rest
		}
		if url, rest, whole := strings.Cut(said, "\n"); err == nil && whole {
			if !strings.HasPrefix(url, "http://127.0.0.1:") || rest != "" {
				ts.Fatalf("%s says %q", args[0], text)
			}
			ts.Setenv(args[1], url)
			ts.Setenv(args[1]+"_ADDR", strings.TrimPrefix(url, "http://"))
			return
		}
	}
	ts.Fatalf("%s says no address", args[0])
}

// needs PROGRAM HOW…: it is installed. Where it is not, the script fails and says how to get it: to skip would prove nothing.
func needs(ts *testscript.TestScript, _ bool, args []string) {
	if _, err := exec.LookPath(args[0]); err != nil {
		ts.Fatalf("%s is missing: %s", args[0], strings.Join(args[1:], " "))
	}
}

// document FILE: it holds one run document, valid by the schema, and nothing else.
func document(ts *testscript.TestScript, _ bool, args []string) {
	text := ts.ReadFile(args[0])
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	ts.Check(err)
	schemaValue, err := jsonschema.UnmarshalJSON(strings.NewReader(results.Schema))
	ts.Check(err)
	c := jsonschema.NewCompiler()
	ts.Check(c.AddResource("schema.json", schemaValue))
	s, err := c.Compile("schema.json")
	ts.Check(err)
	ts.Check(s.Validate(value))
}

// xml FILE: it is well-formed, to a strict reader.
func strictXML(ts *testscript.TestScript, _ bool, args []string) {
	dec := xml.NewDecoder(strings.NewReader(ts.ReadFile(args[0])))
	dec.Strict = true
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else {
			ts.Check(err)
		}
	}
}

// plain FILE: no carriage return and no escape sequence in it.
func plain(ts *testscript.TestScript, neg bool, args []string) {
	if text := ts.ReadFile(args[0]); strings.ContainsAny(text, "\r\x1b") != neg {
		ts.Fatalf("%s: %q", args[0], text)
	}
}

// isolationtester FILE: PostgreSQL's own tool runs it, in the script's database.
func isolationtester(ts *testscript.TestScript, cfg *pgx.ConnConfig, file string) {
	tool := os.Getenv("IDEMLAB_ISOLATIONTESTER")
	if tool == "" {
		found, _ := filepath.Glob("/usr/lib/postgresql/*/lib/pgxs/src/test/isolation/isolationtester")
		if len(found) == 0 {
			ts.Fatalf("isolationtester is missing; on Debian: sudo apt-get install postgresql-client-15 (or set IDEMLAB_ISOLATIONTESTER)")
		}
		tool = found[len(found)-1]
	}
	ts.Check(ts.Exec("sh", "-c", `exec "$0" "$1" < "$2"`, tool,
		fmt.Sprintf("host=%s port=%d user=%s dbname=%s", cfg.Host, cfg.Port, cfg.User, ts.Getenv("DBNAME")), file))
}

// noschemas: no run has left a schema on the server.
func noSchemas(ts *testscript.TestScript, cfg *pgx.ConnConfig) {
	with(ts, cfg, func(ctx context.Context, conn *pgx.Conn) {
		var n int
		ts.Check(conn.QueryRow(ctx, `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab%'`).Scan(&n))
		if n > 0 {
			ts.Fatalf("%d schemas left", n)
		}
	})
}

// gone: waits until no session of a run is left on the server, nor a schema.
func gone(ts *testscript.TestScript, cfg *pgx.ConnConfig) {
	with(ts, cfg, func(ctx context.Context, conn *pgx.Conn) {
		for left := true; left; {
			ts.Check(conn.QueryRow(ctx, `
				SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend')
				    OR EXISTS (SELECT FROM pg_namespace WHERE nspname LIKE 'idemlab%')`).Scan(&left))
		}
	})
}

// attempts [N]: waits until a race's attempts are in the database, and its acquirer has been called; with N, not before there are N
// schemas: those of earlier races that were kept, and its own.
func waitForAttempts(ts *testscript.TestScript, cfg *pgx.ConnConfig, args []string) {
	schemas := 1
	if len(args) > 0 {
		var err error
		schemas, err = strconv.Atoi(args[0])
		ts.Check(err)
	}
	with(ts, cfg, func(ctx context.Context, conn *pgx.Conn) {
		for seen := false; !seen; {
			ts.Check(conn.QueryRow(ctx, `
				SELECT EXISTS (SELECT FROM pg_stat_activity
				                WHERE datname = current_database() AND application_name LIKE 'idemlab% attempts' AND wait_event = 'transactionid')
				   AND (SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab%') >= $1`, schemas).Scan(&seen))
		}
	})
}

// running PATTERN: waits until some connection's statement, or its last one, is like that.
func waitForStatement(ts *testscript.TestScript, cfg *pgx.ConnConfig, pattern string) {
	with(ts, cfg, func(ctx context.Context, conn *pgx.Conn) {
		for seen := false; !seen; {
			ts.Check(conn.QueryRow(ctx, `
				SELECT EXISTS (SELECT FROM pg_stat_activity
				                WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE $1)`, pattern).Scan(&seen))
		}
	})
}

// sql STATEMENT: runs it on the server; its first column must be true where it returns a row.
func runSQL(ts *testscript.TestScript, cfg *pgx.ConnConfig, args []string) {
	with(ts, cfg, func(ctx context.Context, conn *pgx.Conn) {
		rows, err := conn.Query(ctx, args[0])
		ts.Check(err)
		got, err := pgx.CollectRows(rows, pgx.RowTo[bool])
		ts.Check(err)
		for _, yes := range got {
			if !yes {
				ts.Fatalf("not so: %s", args[0])
			}
		}
	})
}

func with(ts *testscript.TestScript, cfg *pgx.ConnConfig, f func(ctx context.Context, conn *pgx.Conn)) {
	ctx, cancel := context.WithTimeout(context.Background(), never)
	defer cancel()
	own := cfg.Copy()
	own.Database = ts.Getenv("DBNAME")
	conn, err := pgx.ConnectConfig(ctx, own)
	ts.Check(err)
	defer conn.Close(ctx)
	f(ctx, conn)
}

func TestHelpHasARealExampleForEachCommand(t *testing.T) {
	for _, name := range []string{
		"race", "sweep", "load", "bystander", "consume", "explore", "verify", "mutate", "storage", "repeats", "serve", "acquirer", "retry", "recover", "reconcile", "expiry", "stored", "neighbours", "new-strategy", "strategies", "explain", "report",
		"compare", "version",
	} {
		var out, errs bytes.Buffer
		if code := cmd.Main(schema, []string{name, "--help"}, nil, nil, &out, &errs); code != 0 {
			t.Errorf("%s --help: exit %d, %s", name, code, errs.String())
		}
		if !strings.Contains(out.String(), "Examples:\n  idemlab "+name) {
			t.Errorf("%s --help has no example:\n%s", name, out.String())
		}
	}
}
