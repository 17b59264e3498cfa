package repeats

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// processorTime is what a backend has used of the processor so far, by the scheduler's own clock, in nanoseconds
// (/proc/PID/schedstat, Linux). Nil where the backend is not a process of this system, or the system does not tell.
func processorTime(pid uint32, cfg *pgx.ConnConfig) *time.Duration {
	if !onThisMachine(cfg.Host) || !isBackend(pid, cfg) {
		return nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	if err != nil {
		return nil
	}
	return onProcessor(string(text))
}

// onProcessor reads the first of schedstat's numbers (Linux, Documentation/scheduler/sched-stats.rst).
func onProcessor(schedstat string) *time.Duration {
	first, _, _ := strings.Cut(strings.TrimSpace(schedstat), " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	if err != nil {
		return nil
	}
	d := time.Duration(ns)
	return &d
}

func onThisMachine(host string) bool {
	if filepath.IsAbs(host) || strings.HasPrefix(host, "@") || host == "localhost" { // a unix socket, an abstract one
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// isBackend says whether the process of that number calls itself a backend of this user and database: a server in a container has
// numbers of its own, which mean something else here.
func isBackend(pid uint32, cfg *pgx.ConnConfig) bool {
	title, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return false
	}
	text := string(bytes.ReplaceAll(title, []byte{0}, []byte{' '}))
	return strings.HasPrefix(text, "postgres: ") && strings.Contains(text, " "+cfg.User+" "+cfg.Database+" ")
}
