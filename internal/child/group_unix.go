//go:build unix

package child

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the terminal's Ctrl-C from the child: the parent alone decides when its children end.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
