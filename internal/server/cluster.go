//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// superuser is the role that owns a server of our own, and the lab's role there.
const superuser = "postgres"

// initDB makes the cluster: initdb's own settings for durability, no network, and one account that may connect. When
// ctx ends, so does initdb; that is no error.
func initDB(ctx context.Context, o *startOrder, f *folder) error {
	// SIGTERM, and to initdb alone: it then ends its own child in order, and removes what it made.
	p, err := startProcess(o, f, syscall.SIGTERM, "initdb", "-D", f.data(), "-U", superuser, "-A", "peer",
		"-E", "UTF8", "--no-locale",
		"--no-sync") // flushing an empty cluster, thrown away after a crash anyway, would take most of the time
	if err != nil {
		return err
	}
	select {
	case <-p.exited:
		err = p.err
	case <-ctx.Done():
		return p.end(syscall.SIGTERM)
	case <-time.After(initdbLimit):
		return errors.Join(fmt.Errorf("initdb did not end within %s; its output:\n%s", initdbLimit, logTail(f)), p.end(syscall.SIGTERM))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("initdb failed (%v); its output:\n%s", err, logTail(f)), reapOrphans())
	}
	return configure(o, f)
}

// configure writes the three configuration files. They exist, belong to the account, and keep owner and mode.
func configure(o *startOrder, f *folder) error {
	conf := o.Conf + confLines([]setting{
		{"listen_addresses", ""}, {"port", fmt.Sprint(socketPort)}, {"unix_socket_directories", f.dir},
	})
	// Peer authentication compares what the kernel says about the process at the other end: no password that
	// could leak, and no other account of the machine gets in.
	hba := "local all all peer map=idemlab\n"
	ident := fmt.Sprintf("idemlab \"%s\" \"%s\"\n", strings.ReplaceAll(o.OSUser, `"`, `""`), superuser)
	return errors.Join(
		writeConf(f, "postgresql.conf", os.O_APPEND, conf),
		writeConf(f, "pg_hba.conf", os.O_TRUNC, hba),
		writeConf(f, "pg_ident.conf", os.O_TRUNC, ident),
	)
}

func writeConf(f *folder, name string, flag int, text string) error {
	file, err := os.OpenFile(filepath.Join(f.data(), name), os.O_WRONLY|flag, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// postmasterReady reads the status that postgres keeps in line 8 of postmaster.pid.
// Source: LOCK_FILE_LINE_PM_STATUS in PostgreSQL's src/include/utils/pidfile.h.
func postmasterReady(f *folder) bool {
	text, err := os.ReadFile(filepath.Join(f.data(), "postmaster.pid"))
	lines := strings.Split(string(text), "\n")
	return err == nil && len(lines) >= 8 && strings.TrimSpace(lines[7]) == "ready"
}

// startupError reads from the log why postgres did not start. A configuration file that it does not accept is the doing
// of whoever passed --pg-set: the lab's own lines are known to work.
func startupError(f *folder) error {
	tail := logTail(f)
	if strings.Contains(tail, "contains errors") { // in English: initdb --no-locale says so in the configuration
		return usagef("PostgreSQL does not accept a setting given with --pg-set; it says:\n%s", tail)
	}
	return fmt.Errorf("the server did not start (if there is a --pg-set, try without); the end of its log:\n%s", tail)
}

// logTail is the end of the log, indented for a message.
func logTail(f *folder) string {
	text, err := os.ReadFile(f.log())
	if err != nil {
		return "  (no log: " + err.Error() + ")"
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-15):], "\n  ")
}
