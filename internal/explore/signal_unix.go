//go:build unix

package explore

import (
	"errors"
	"syscall"
)

// canStop says whether the processes of the server are ours to stop: the same machine, and the right to signal them.
func canStop(pid uint32) bool { return syscall.Kill(int(pid), 0) == nil }

func stopProcess(pid uint32) error { return syscall.Kill(int(pid), syscall.SIGSTOP) }

// contProcess lets a stopped process go on. One that is gone needs no letting go.
func contProcess(pid uint32) error {
	if err := syscall.Kill(int(pid), syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}
