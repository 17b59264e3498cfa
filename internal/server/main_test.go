//go:build linux

package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
)

// waitLimit is what a test waits for an event before it calls it missing: a start alone may take 8 s on a busy machine.
const waitLimit = 30 * time.Second

func TestMain(m *testing.M) {
	os.Exit(servertest.Main(m, holdHook, dialHook, parentHook, dropKillHook))
}

// holdHook is the victim of the kill tests: a process that opens a server as the tool would, says so, and stays until
// it is killed or its stdin ends. With "schema" it also creates one.
func holdHook(args []string) (int, bool) {
	if len(args) == 0 || args[0] != "hold" {
		return 0, false
	}
	ctx := context.Background()
	s, err := server.Open(ctx, server.Options{Environ: os.Environ()})
	if err != nil {
		fmt.Println("error:", err)
		return 1, true
	}
	name := "-"
	if len(args) > 1 && args[1] == "schema" {
		h, err := s.NewSchema(ctx, "CREATE TABLE t ()")
		if err != nil {
			fmt.Println("error:", err)
			return 1, true
		}
		name = h.Name()
	}
	fmt.Println("ready", name)
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := s.Stop(ctx); err != nil {
		fmt.Println("error:", err)
		return 1, true
	}
	return 0, true
}

// child is this test binary, started again.
type child struct {
	cmd   *exec.Cmd
	stdin io.Closer
	lines chan string // its stdout; closed at its end
}

// startChild starts it in a process group of its own, with only env for an environment.
func startChild(t *testing.T, env []string, args ...string) *child {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", args...)
	cmd.Env, cmd.Dir = append(env, "GORACE=atexit_sleep_ms=0"), "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: cmd, stdin: stdin, lines: make(chan string, 100)}
	go func() {
		for in := bufio.NewScanner(stdout); in.Scan(); {
			c.lines <- in.Text()
		}
		_ = cmd.Wait()
		close(c.lines)
	}()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return c
}

// line waits for the child's next line, "" at its end.
func (c *child) line(t *testing.T) string {
	t.Helper()
	select {
	case line := <-c.lines:
		return line
	case <-time.After(waitLimit):
		t.Fatal("the child says nothing")
		return ""
	}
}

// ended waits for the child's end.
func (c *child) ended(t *testing.T) {
	t.Helper()
	for c.line(t) != "" {
	}
}

// tmpFolder is short enough for a socket, open to the account that root's servers run as, and, where the machine has
// one, on a disk.
func tmpFolder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/var/tmp", "t")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// plainEnv is an environment for a server of our own in tmp, without whatever this machine has set.
func plainEnv(tmp string) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "TMPDIR=" + tmp}
}

// open opens a server and stops it after the test.
func open(t *testing.T, o server.Options) *server.Server {
	t.Helper()
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	s, err := server.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	return s
}

func connect(t *testing.T, cfg *pgx.ConnConfig) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// query returns the one value of a query.
func query[T any](t *testing.T, conn *pgx.Conn, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := conn.QueryRow(t.Context(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

func execSQL(t *testing.T, conn *pgx.Conn, sql string) {
	t.Helper()
	if _, err := conn.Exec(t.Context(), sql); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// afterwards runs sql on s at the end of the test, when its context is over.
func afterwards(t *testing.T, s *server.Server, sql string) {
	t.Cleanup(func() {
		conn, err := pgx.ConnectConfig(context.Background(), s.Config())
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := conn.Exec(context.Background(), sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
		_ = conn.Close(context.Background())
	})
}

// traces lists the processes that work in tmp, or were told to, and the folders in it.
func traces(tmp string) []string {
	found, _ := filepath.Glob(filepath.Join(tmp, "*"))
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		if filepath.Base(p) == fmt.Sprint(os.Getpid()) {
			continue
		}
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		cmd, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if strings.Contains(cwd+string(env)+string(cmd), tmp) {
			found = append(found, fmt.Sprintf("%s %q in %s", p, cmd, cwd))
		}
	}
	return found
}

// nothingLeft waits until nothing of a server in tmp is left. The pause is there because the end of processes that
// are not ours cannot be waited for.
func nothingLeft(t *testing.T, tmp string) {
	t.Helper()
	deadline := time.Now().Add(waitLimit)
	for {
		left := traces(tmp)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			killStrays(tmp)
			t.Fatalf("left behind:\n%s", strings.Join(left, "\n"))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// killStrays keeps a test that failed from leaving its processes to everybody else on the machine.
func killStrays(tmp string) {
	for _, line := range traces(tmp) {
		var pid int
		if n, _ := fmt.Sscanf(line, "/proc/%d ", &pid); n == 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
