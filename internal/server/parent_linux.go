package server

import (
	"fmt"
	"os"
	"strings"
)

// processName is the name of a process's program, "" when there is no such process.
func processName(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}
