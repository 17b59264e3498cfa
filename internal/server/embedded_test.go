//go:build linux

package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
)

func TestEmbeddedStartsSaysAndLeavesNothing(t *testing.T) {
	tmp := tmpFolder(t)
	var said []string
	s := open(t, server.Options{Environ: plainEnv(tmp), Connections: 150,
		Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }})
	info := s.Info()
	if len(said) == 0 || !strings.HasPrefix(said[0], "server: PostgreSQL "+info.Version+", embedded (binaries /") ||
		!strings.Contains(said[0], "), throwaway") {
		t.Errorf("said %q", said)
	}
	if !info.Embedded || info.Source != "embedded" || !info.Superuser || info.MaxConnections < 150 || info.VersionNum < 100000 {
		t.Errorf("info: %+v", info)
	}
	for _, name := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		if info.Settings[name] != "on" {
			t.Errorf("PostgreSQL's own default for %s is on, not %q", name, info.Settings[name])
		}
	}
	info.Settings["fsync"] = "changed"
	if s.Info().Settings["fsync"] != "on" {
		t.Error("Info hands out its own map")
	}
	conn := connect(t, s.Config())
	if got := query[string](t, conn, "SHOW listen_addresses"); got != "" {
		t.Errorf("listens on %q", got)
	}
	if got := query[string](t, conn, "SHOW search_path"); got != "pg_catalog" {
		t.Errorf("search_path %q", got)
	}
	if info, err := os.Stat(s.Folder()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("folder: %v %v", info, err)
	}
	if len(traces(tmp)) < 3 {
		t.Errorf("what the other tests look for is not found here: %v", traces(tmp))
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if left := traces(tmp); len(left) > 0 {
		t.Errorf("Stop returned, and there is still: %v", left)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// Every account of the machine can reach a socket's path when the folder is opened to it: who gets in is decided
// by peer authentication.
func TestNobodyElseGetsIn(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can try as somebody else")
	}
	s := open(t, server.Options{Environ: plainEnv(tmpFolder(t))})
	if err := os.Chmod(s.Folder(), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := asNobody(t, "dial", s.DSN())
	if err == nil || !strings.Contains(out, "28000") {
		t.Errorf("nobody: %v\n%s", err, out)
	}
}

// asNobody runs this test binary as an ordinary user: through /proc, because its file may lie in a private folder.
func asNobody(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Dir = "/"
	cmd.Env = append(plainEnv("/var/tmp"), "GORACE=atexit_sleep_ms=0", "KILL_ROUNDS=few")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestAsOrdinaryUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("the other tests are run as one already")
	}
	out, err := asNobody(t, "-test.v", "-test.run", "^(TestEmbedded|TestSchema|TestSweep|TestKillTable)")
	if err != nil || strings.Count(out, "--- PASS: Test") < 5 {
		t.Errorf("%v\n%s", err, out)
	}
}

// The variables that reach into connections must not reach the server of our own.
func TestEnvironmentDoesNotMatter(t *testing.T) {
	tmp := tmpFolder(t)
	env := plainEnv(tmp)
	for _, kv := range []string{
		"PGDATA=/nonexistent", "PGOPTIONS=-c work_mem=nonsense", "PGTZ=nonsense", "PGUSER=nobody", "PGPASSWORD=x",
		"PGSSLMODE=verify-full", "PGAPPNAME=other", "PGDATABASE=other", "PGCONNECT_TIMEOUT=nonsense", "LANG=zz", "LC_ALL=zz", "TZ=Nowhere",
	} {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
		env = append(env, kv)
	}
	// A port or a service is a place to connect to, so these two only stand in the process, as a leftover would.
	t.Setenv("PGPORT", "1")
	t.Setenv("PGSERVICE", "nonsense")
	s := open(t, server.Options{Environ: env})
	conn := connect(t, s.Config())
	if got := query[string](t, conn, "SELECT concat_ws(' ', current_setting('lc_messages'), current_setting('TimeZone'), current_user)"); got != "C UTC postgres" {
		t.Errorf("got %q", got)
	}
	if os.Getenv("PGOPTIONS") != "" {
		t.Error("child processes would inherit PGOPTIONS")
	}
	// What a child process does with DSN, in this environment.
	again := open(t, server.Options{DSN: s.DSN(), Environ: env})
	if i := again.Info(); i.Source != "--dsn" || i.Embedded || i.VersionNum != s.Info().VersionNum {
		t.Errorf("through DSN: %+v", i)
	}
}

func TestTmpdirThatWillNotDo(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(tmpFolder(t), "closed")
	if err := os.Mkdir(closed, 0o700); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(tmpFolder(t), strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{"too long": long, "missing": "/nonexistent", "relative": "tmp"}
	if os.Geteuid() == 0 {
		cases["closed to the account"] = closed
	}
	for name, dir := range cases {
		t.Run(name, func(t *testing.T) {
			var said []string
			s := open(t, server.Options{Environ: plainEnv(dir),
				Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }})
			if !strings.HasPrefix(s.Folder(), "/var/tmp/idemlab-") {
				t.Errorf("it is in %s", s.Folder())
			}
			if len(said) != 2 || !strings.Contains(said[1], "folder "+dir+" will not do") {
				t.Errorf("said %q", said)
			}
			if err := s.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSettings(t *testing.T) {
	s := open(t, server.Options{Environ: plainEnv(tmpFolder(t)), Fast: true,
		Settings: []string{"work_mem=5MB", "synchronous_commit=on", "my.note=it's \\ so"}})
	info := s.Info()
	if info.Settings["work_mem"] != "5MB" || info.Settings["my.note"] != `it's \ so` {
		t.Errorf("settings: %v", info.Settings)
	}
	if info.NotDurable != "fsync is off; full_page_writes is off" {
		t.Errorf("not durable: %q", info.NotDurable)
	}
}

func TestSettingThatPostgreSQLRefuses(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"wrok_mem=5MB", "work_mem=much", "work_mem=-5", "full_page_writes=maybe", "max_connections=1000000"} {
		tmp := tmpFolder(t)
		s, err := server.Open(t.Context(), server.Options{Environ: plainEnv(tmp), Settings: []string{setting}, Say: t.Logf})
		if err == nil {
			_ = s.Stop(t.Context())
		}
		name, _, _ := strings.Cut(setting, "=")
		if !server.IsUsage(err) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", setting, err)
		}
		if left := traces(tmp); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

// A --pg-set that leaves too few connections is found out before the run.
func TestTooFewConnectionsEmbedded(t *testing.T) {
	tmp := tmpFolder(t)
	_, err := server.Open(t.Context(), server.Options{Environ: plainEnv(tmp), Connections: 50,
		Settings: []string{"max_connections=20"}, Say: t.Logf})
	if err == nil || !strings.Contains(err.Error(), "needs 50 connections") {
		t.Errorf("got %v", err)
	}
	if left := traces(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestOpenCancelled(t *testing.T) {
	tmp := tmpFolder(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // once initdb is at work
		for !strings.Contains(strings.Join(traces(tmp), "\n"), "--boot") && t.Context().Err() == nil {
		}
		cancel()
	}()
	_, err := server.Open(ctx, server.Options{Environ: plainEnv(tmp), Say: t.Logf})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "starting a PostgreSQL") {
		t.Errorf("got %v", err)
	}
	if left := traces(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// dialHook connects with a connection string and prints what comes of it.
func dialHook(args []string) (int, bool) {
	if len(args) != 2 || args[0] != "dial" {
		return 0, false
	}
	conn, err := pgx.Connect(context.Background(), args[1])
	if err != nil {
		fmt.Println(err)
		return 1, true
	}
	_ = conn.Close(context.Background())
	return 0, true
}
