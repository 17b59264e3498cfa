//go:build unix && !linux

package server

import (
	"os"
	"syscall"
)

func selfPath() (string, error) { return os.Executable() }

// childAttr: outside Linux nothing tells a child that its parent died. When the supervisor itself is killed, the tool
// stops postgres (see embedded.stop); only when both are killed at once does a server stay.
func childAttr(as *account, _ syscall.Signal) *syscall.SysProcAttr { return credential(as) }

func adoptOrphans() {}

func killChildren() {}

func inMemory(string) bool { return false }
