//go:build linux

package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"idemlab/internal/server"
)

// The tool, or its process group, is killed at any moment: no process stays, and no folder.
func TestKillTable(t *testing.T) {
	t.Parallel()
	rounds, seed := 20, rand.Uint64()
	if os.Getenv("KILL_ROUNDS") == "few" { // the second time in one go test, as another user
		rounds = 6
	}
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	// How long a start takes here, so that the moments cover all of it.
	tmp := tmpFolder(t)
	began := time.Now()
	if got := startChild(t, plainEnv(tmp), "hold").line(t); !strings.HasPrefix(got, "ready") {
		t.Fatalf("the child says %q", got)
	}
	whole := time.Since(began)
	for i := range rounds {
		sig, group := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM}[i%2], i/2%2 == 1
		after := time.Duration(rnd.Int64N(int64(whole)))
		t.Run(fmt.Sprintf("%v,group=%t,after=%v", sig, group, after), func(t *testing.T) {
			tmp := tmpFolder(t)
			c := startChild(t, plainEnv(tmp), "hold")
			time.Sleep(after) // the point of the test is a moment that no event marks
			pid := c.cmd.Process.Pid
			if group {
				pid = -pid
			}
			if err := syscall.Kill(pid, sig); err != nil {
				t.Fatal(err)
			}
			c.ended(t)
			nothingLeft(t, tmp)
		})
	}
}

// The supervisor is killed: the server ends at once, and Stop removes the folder.
func TestSupervisorKilled(t *testing.T) {
	tmp := tmpFolder(t)
	s := open(t, server.Options{Environ: plainEnv(tmp)})
	if err := syscall.Kill(s.SupervisorPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if left := traces(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// The supervisor is killed together with the tool: the kernel ends the server. The folder stays, and the next start
// removes it.
func TestEverythingKilledAtOnce(t *testing.T) {
	tmp := tmpFolder(t)
	c := startChild(t, plainEnv(tmp), "hold")
	if got := c.line(t); !strings.HasPrefix(got, "ready") {
		t.Fatal(got)
	}
	for _, line := range traces(tmp) {
		var pid int
		if n, _ := fmt.Sscanf(line, "/proc/%d ", &pid); n == 1 && strings.Contains(line, "__idemlab-supervise") {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = c.cmd.Process.Kill()
	c.ended(t)
	deadline := time.Now().Add(waitLimit)
	for left := traces(tmp); len(left) > 1; left = traces(tmp) { // one is the folder
		if time.Now().After(deadline) {
			killStrays(tmp)
			t.Fatalf("left behind: %v", left)
		}
		time.Sleep(5 * time.Millisecond) // the end of processes that are not ours cannot be waited for
	}
	s := open(t, server.Options{Environ: plainEnv(tmp)})
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if left := traces(tmp); len(left) > 0 {
		t.Errorf("not swept: %v", left)
	}
}

// A server that outlives its supervisor for a while keeps its folder: the lock goes with the last process, and so no
// other start takes the folder for a leftover.
func TestFolderIsLockedUntilTheServerIsGone(t *testing.T) {
	tmp := tmpFolder(t)
	s := open(t, server.Options{Environ: plainEnv(tmp)})
	pid := postmaster(t, s)
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil { // it cannot act on the kernel's signal now
		t.Fatal(err)
	}
	if err := syscall.Kill(s.SupervisorPID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	other := open(t, server.Options{Environ: plainEnv(tmp)})
	if err := other.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(s.Folder() + "/data"); err != nil {
		t.Errorf("swept under a living server: %v", err)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if left := traces(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func postmaster(t *testing.T, s *server.Server) (pid int) {
	t.Helper()
	text := query[string](t, connect(t, s.Config()), "SELECT pg_read_file('postmaster.pid')")
	if _, err := fmt.Sscan(text, &pid); err != nil {
		t.Fatal(err)
	}
	return pid
}

// The server itself is killed: Stop says so, with its log, and nothing stays.
func TestPostmasterKilled(t *testing.T) {
	tmp := tmpFolder(t)
	s := open(t, server.Options{Environ: plainEnv(tmp)})
	conn := connect(t, s.Config())
	pid := postmaster(t, s)
	// A backend that computes does not look up when the server dies: it must be killed.
	go func() { _, _ = conn.Exec(t.Context(), "DO $$ BEGIN LOOP END LOOP; END $$") }()
	for !busy(t, s) {
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, tmp)
	if err := s.Stop(t.Context()); err == nil || !strings.Contains(err.Error(), "ended by itself") {
		t.Errorf("Stop: %v", err)
	}
}

func busy(t *testing.T, s *server.Server) bool {
	return query[bool](t, connect(t, s.Config()),
		"SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'active' AND query LIKE 'DO %' AND pid <> pg_backend_pid()")
}

// dropKillHook runs the rest of its arguments without CAP_KILL, as root in a stricter container is.
func dropKillHook(args []string) (int, bool) {
	if len(args) == 0 || args[0] != "without-cap-kill" {
		return 0, false
	}
	runtime.LockOSThread() // capabilities belong to a thread, and exec keeps those of the calling one
	if err := unix.Prctl(unix.PR_CAPBSET_DROP, unix.CAP_KILL, 0, 0, 0); err != nil {
		fmt.Println(err)
		return 1, true
	}
	err := syscall.Exec("/proc/self/exe", append([]string{"idemlab"}, args[1:]...), os.Environ())
	fmt.Println(err)
	return 1, true
}

func TestRootWithoutCapKill(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has it")
	}
	tmp := tmpFolder(t)
	c := startChild(t, plainEnv(tmp), "without-cap-kill", "hold")
	if got := c.line(t); !strings.HasPrefix(got, "ready") {
		t.Fatal(got)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), "CapEff:")
	var caps uint64
	if _, err := fmt.Sscanf(after, "%x", &caps); err != nil || caps == 0 || caps&(1<<unix.CAP_KILL) != 0 {
		t.Fatalf("it has CAP_KILL: %x, %v", caps, err)
	}
	_ = c.stdin.Close()
	c.ended(t)
	if left := traces(tmp); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
