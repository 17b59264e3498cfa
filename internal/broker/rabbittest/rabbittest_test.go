//go:build linux

package rabbittest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"idemlab/internal/broker/rabbittest"
)

// holds is set for the victim: this test binary once more.
const holds = "RABBITTEST_HOLDS"

// A test binary that is killed leaves no process behind, be it RabbitMQ's or its name server's.
func TestNothingIsLeftOfAKilledTest(t *testing.T) {
	if os.Getenv(holds) != "" {
		rabbittest.Start(t)
		fmt.Println("\nstarted")
		<-t.Context().Done() // for ever
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestNothingIsLeftOfAKilledTest$")
	cmd.Env = append(os.Environ(), holds+"=1", "TMPDIR="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	for said.Scan() && said.Text() != "started" {
	}
	before := running(t, dir)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	if len(before) < 2 {
		t.Fatalf("only %v were running", before)
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) { // between two looks: the kernel says nothing
		left := running(t, dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("still there: %v", left)
		}
	}
}

// running are the processes whose files are in a folder.
func running(t *testing.T, dir string) (names []string) {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range environs {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte("HOME="+dir)) {
			continue // somebody else's, or just gone
		}
		name, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
		names = append(names, strings.TrimSpace(string(name)))
	}
	return names
}
