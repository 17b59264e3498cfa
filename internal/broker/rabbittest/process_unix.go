//go:build unix

package rabbittest

import (
	"os"
	"syscall"
)

func terminate(p *os.Process) error { return p.Signal(syscall.SIGTERM) }

// kill ends what is left of a process's group.
func kill(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
