package rabbittest

import (
	"os"
	"os/exec"
)

func endsWithUs(*exec.Cmd) {}

func terminate(p *os.Process) error { return p.Kill() }

func kill(int) {}
