package servertest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
)

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, func(args []string) (int, bool) { return 7, len(args) == 1 && args[0] == "seven" }))
}

func TestSchemaIsReadyAndGoneAfterTheTest(t *testing.T) {
	var h *server.Schema
	t.Run("inner", func(t *testing.T) {
		h = servertest.Schema(t, "CREATE TABLE t ()")
		if n := count(t, h.Config(), "SELECT count(*) FROM t"); n != 0 {
			t.Error(n)
		}
	})
	if count(t, servertest.Server(t).Config(), "SELECT count(*) FROM pg_namespace WHERE nspname = '"+h.Name()+"'") != 0 {
		t.Error("it is still there")
	}
}

func count(t *testing.T, cfg *pgx.ConnConfig, sql string) (n int) {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if err := conn.QueryRow(t.Context(), sql).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// again runs this test binary with other arguments, in an environment in which a server goes below tmp.
func again(t *testing.T, tmp string, env []string, args ...string) (out string, code int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(append(os.Environ(), "TMPDIR="+tmp), env...)
	text, _ := cmd.CombinedOutput()
	return string(text), cmd.ProcessState.ExitCode()
}

func TestHooks(t *testing.T) {
	if out, code := again(t, "/tmp", nil, "seven"); code != 7 {
		t.Errorf("code %d: %s", code, out)
	}
}

// Without a server the tests fail, and say what to type. Nothing is skipped.
func TestNoServer(t *testing.T) {
	out, code := again(t, "/tmp", []string{"IDEMLAB_PG_BIN=/nonexistent"}, "-test.run", "TestSchemaIs", "-test.v")
	if code != 1 || strings.Contains(out, "SKIP") || !strings.Contains(out, server.InstallCommand()) {
		t.Errorf("code %d: %s", code, out)
	}
}

// A server that the environment names is not for tests.
func TestUsersServerIsLeftAlone(t *testing.T) {
	out, code := again(t, "/tmp", []string{"DATABASE_URL=postgres://127.0.0.1:1/x", "IDEMLAB_DSN=nonsense", "PGHOST=nowhere"}, "-test.run", "TestSchemaIs")
	if code != 0 {
		t.Errorf("code %d: %s", code, out)
	}
}

// TestPanics is for TestPanicLeavesNothing.
func TestPanics(t *testing.T) {
	if os.Getenv("SERVERTEST_PANIC") == "" {
		t.Skip("run by TestPanicLeavesNothing")
	}
	servertest.Schema(t, "")
	panic("as a test may")
}

func TestPanicLeavesNothing(t *testing.T) {
	tmp, err := os.MkdirTemp("/var/tmp", "t")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	if err := os.Chmod(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	out, code := again(t, tmp, []string{"SERVERTEST_PANIC=1"}, "-test.run", "TestPanics")
	if code != 2 || !strings.Contains(out, "as a test may") {
		t.Errorf("code %d: %s", code, out)
	}
	// The supervisor works on after the test's end, and is nobody's child here: its folder is all that can be watched.
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		left, _ := filepath.Glob(filepath.Join(tmp, "*"))
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %q", left)
		}
	}
}

func TestQuietServerHasNoAutovacuum(t *testing.T) {
	srv := servertest.Quiet(t)
	conn, err := pgx.ConnectConfig(t.Context(), srv.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer server.CloseConn(t.Context(), conn)
	var setting string
	var working int
	err = conn.QueryRow(t.Context(), `
		SELECT current_setting('autovacuum'), (SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum%')`).Scan(&setting, &working)
	if err != nil || setting != "off" || working != 0 {
		t.Errorf("autovacuum is %s, %d at work (%v)", setting, working, err)
	}
}
