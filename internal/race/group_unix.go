//go:build unix

package race

import (
	"os/exec"
	"syscall"
)

// ownGroup keeps the terminal's Ctrl-C from the child: the race alone decides when its instances end.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
