//go:build unix && !linux

package rabbittest

import (
	"os/exec"
	"syscall"
)

// endsWithUs puts the process in a group of its own, and can promise no more here: a test binary that is killed leaves the node behind.
func endsWithUs(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
