//go:build unix

package load

import (
	"syscall"
	"time"
)

// processorTime is what this process has taken so far, in user and system mode; negative where the system does not say.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return -1
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
