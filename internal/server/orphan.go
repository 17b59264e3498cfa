//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// removeAfterKill removes the folder that a supervisor left, because it was killed itself. Its server has had the
// kernel's signal (on Linux), so the lock on the folder is about to become free; otherwise it is told to end here.
func removeAfterKill(ctx context.Context, dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil // the supervisor removed it: the usual case
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for tries := 0; ; tries++ {
		lock, err := lockFolder(dir)
		if err == nil {
			return (&folder{base: filepath.Dir(dir), dir: dir, lock: lock}).remove()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // another run's sweep was faster
		}
		if tries == 50 { // 0.2 s: longer than the signal takes
			quitPostmaster(dir)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("processes of the server still use %s: the next start removes it", dir)
		case <-tick.C: // flock has no timed variant
		}
	}
}

// quitPostmaster ends the server of a folder whose lock is held, that is, whose processes are alive.
func quitPostmaster(dir string) {
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		return
	}
	first, _, _ := strings.Cut(string(text), "\n")
	if pid, err := strconv.Atoi(first); err == nil && pid > 1 {
		_ = syscall.Kill(pid, syscall.SIGQUIT) // gone already, or the wait's limit will tell
	}
}
