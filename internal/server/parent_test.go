//go:build linux

package server_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"idemlab/internal/server"
)

// parentHook plays both parts of `go run`: as "parent" it starts "watch" below itself, and waits; "watch" says when its
// parent has gone.
func parentHook(args []string) (int, bool) {
	if len(args) != 1 || args[0] != "parent" && args[0] != "watch" {
		return 0, false
	}
	if args[0] == "watch" {
		ctx, cancel := contextWithStdin()
		defer cancel()
		gone := server.ParentGone(ctx)
		fmt.Println("watching")
		select {
		case <-gone:
			fmt.Println("gone")
		case <-ctx.Done():
			fmt.Println("stdin ended")
		}
		return 0, true
	}
	cmd := exec.Command("/proc/self/exe", "watch")
	cmd.Stdin, cmd.Stdout = os.Stdin, os.Stdout
	if err := cmd.Start(); err != nil {
		fmt.Println(err)
		return 1, true
	}
	_ = cmd.Wait()
	return 0, true
}

func TestParentGone(t *testing.T) {
	for name, want := range map[string]string{"go": "gone", "sh": "stdin ended"} {
		t.Run("parent is called "+name, func(t *testing.T) {
			link := tmpFolder(t) + "/" + name
			if err := os.Symlink(testBinary(t), link); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(link, "parent")
			cmd.Env = append(plainEnv("/tmp"), "GORACE=atexit_sleep_ms=0")
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout = w
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			_ = w.Close()
			buf := make([]byte, len("watching\n"))
			if _, err := io.ReadFull(r, buf); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Process.Kill()
			if name != "go" {
				// It has outlived its parent, and must go on until it is told: that nothing happens in the time in which
				// something would has no event.
				time.Sleep(500 * time.Millisecond)
				_ = in.Close()
			}
			rest, err := io.ReadAll(r) // ends when "watch" does
			if err != nil || strings.TrimSpace(string(rest)) != want {
				t.Errorf("got %q, %v", rest, err)
			}
			_ = cmd.Wait()
			_ = in.Close()
		})
	}
}

// contextWithStdin ends with stdin, which is how these tests tell a child to go.
func contextWithStdin() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx, cancel
}

// testBinary is the path of this program.
func testBinary(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
