//go:build unix

package acquirer

import (
	"os"
	"syscall"
)

// lockFile keeps a second acquirer from writing into the same ledger. The lock ends with the process, whatever ends that.
func lockFile(f *os.File) error { return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
