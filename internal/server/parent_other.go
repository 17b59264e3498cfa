//go:build unix && !linux

package server

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// processName is the name of a process's program, "" when there is no such process.
func processName(pid int) string {
	out, err := exec.Command("ps", "-o", "comm=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return ""
	}
	return filepath.Base(strings.TrimSpace(string(out)))
}
