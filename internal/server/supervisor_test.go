//go:build linux

package server

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestIsSupervisor(t *testing.T) {
	for _, args := range [][]string{nil, {"race"}, {supervisorArg, "x"}, {"x", supervisorArg}} {
		if IsSupervisor(args) {
			t.Errorf("%q", args)
		}
	}
	if !IsSupervisor([]string{supervisorArg}) {
		t.Error("not recognised")
	}
}

// A tool that has died reads no messages. The supervisor must not die of writing one, as Go programs do on stderr:
// it would leave the folder.
func TestSupervisorSurvivesABrokenPipe(t *testing.T) {
	tmp := shortTemp(t)
	if err := os.Chmod(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	as, err := serverAccount(os.Geteuid())
	if err != nil {
		t.Fatal(err)
	}
	// The first folder will not do, so there is a note to be written before anything else.
	line, err := json.Marshal(order{Start: &startOrder{Bin: installedBinaries("/", os.Environ()), Tmp: []string{"/nonexistent", tmp},
		OSUser: "x", Account: as, Path: os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	cmd := exec.Command("/proc/self/exe", supervisorArg)
	cmd.Stderr = w
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := stdin.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(readyInterval) {
		if dirs, _ := filepath.Glob(filepath.Join(baseOf(tmp), "pg*")); len(dirs) == 1 && postmasterReady(&folder{dir: dirs[0]}) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("no server")
		}
	}
	_ = stdin.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	if exists(baseOf(tmp)) {
		t.Error("the folder is still there")
	}
}

// What a person gets who runs the hidden command by hand.
func TestSuperviseByHand(t *testing.T) {
	cmd := exec.Command("/proc/self/exe", supervisorArg)
	cmd.Stdin = strings.NewReader("hello\n")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "of no use by hand") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestStartFailedSaysWhatToDo(t *testing.T) {
	as := &account{Name: "postgres"}
	if err := startFailed(syscall.EACCES, "/home/me/bin/initdb", as); !strings.Contains(err.Error(), "account postgres") {
		t.Error(err)
	}
	if err := startFailed(syscall.EPERM, "/usr/bin/initdb", as); !strings.Contains(err.Error(), "--dsn") {
		t.Error(err)
	}
	if err := startFailed(syscall.ENOENT, "/x/initdb", nil); !strings.Contains(err.Error(), "/x/initdb") {
		t.Error(err)
	}
}
