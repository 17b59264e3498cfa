package acquirer

import (
	"os"

	"golang.org/x/sys/windows"
)

// lockFile keeps a second acquirer from writing into the same ledger. The lock ends with the process, whatever ends that.
func lockFile(f *os.File) error {
	// A byte far behind all that will ever be written: on Windows a locked range can be read and written by its owner alone.
	where := &windows.Overlapped{OffsetHigh: 1 << 30}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, where)
}
