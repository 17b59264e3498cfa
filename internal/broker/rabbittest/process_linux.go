package rabbittest

import (
	"os/exec"
	"syscall"
)

// endsWithUs lets the kernel end the process when this one is gone, and puts it in a group of its own, with whatever it starts.
func endsWithUs(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
