//go:build unix

package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// process is initdb or postgres, run by the supervisor.
type process struct {
	cmd    *exec.Cmd
	bin    string
	as     *account
	exited chan struct{} // closed when it has been waited for
	err    error         // valid once exited is closed
}

// startProcess must be called from the goroutine that is locked to its thread (see childAttr).
func startProcess(o *startOrder, f *folder, die syscall.Signal, name string, args ...string) (*process, error) {
	log, err := os.OpenFile(f.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the child has its own copy
	cmd := exec.Command(filepath.Join(o.Bin, name), args...)
	// A file and not a pipe: with a pipe, waiting would last until the last grandchild closes it.
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Dir = f.dir // the tool's own may be closed to the account
	cmd.Env = []string{"PATH=" + o.Path, "LC_ALL=C", "TZ=UTC"}
	cmd.ExtraFiles = []*os.File{f.lock} // see folder
	cmd.SysProcAttr = childAttr(o.Account, die)
	p := &process{cmd: cmd, bin: o.Bin, as: o.Account, exited: make(chan struct{})}
	if err := cmd.Start(); err != nil {
		return nil, startFailed(err, cmd.Path, o.Account)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// startFailed adds what to do to the two failures that a start as root meets.
func startFailed(err error, path string, as *account) error {
	err = fmt.Errorf("starting %s: %w", path, err)
	if as == nil {
		return err
	}
	switch {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("%w\n  root may not change to account %s here: run as an ordinary user, or name a server with --dsn", err, as.Name)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%w\n  account %s, which PostgreSQL runs as, must be able to read it: move the binaries out of a private folder", err, as.Name)
	}
	return err
}

// end asks the process to go and waits until it and all its descendants are gone; what does not go in time is killed.
func (p *process) end(sig syscall.Signal) error {
	p.signal(sig)
	select {
	case <-p.exited:
	case <-time.After(stopLimit):
		p.signal(syscall.SIGKILL)
		select {
		case <-p.exited:
		case <-time.After(stopLimit):
			return fmt.Errorf("%s (pid %d) does not end, not even on SIGKILL", p.cmd.Path, p.cmd.Process.Pid)
		}
	}
	return reapOrphans()
}

// signal sends sig. Root without CAP_KILL may not signal another account's process; pg_ctl, run as that account, may.
func (p *process) signal(sig syscall.Signal) {
	if err := p.cmd.Process.Signal(sig); !errors.Is(err, syscall.EPERM) {
		return // sent, or the process is gone already
	}
	name := map[syscall.Signal]string{syscall.SIGQUIT: "QUIT", syscall.SIGTERM: "TERM", syscall.SIGKILL: "KILL"}[sig]
	ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "pg_ctl"), "kill", name, strconv.Itoa(p.cmd.Process.Pid))
	cmd.SysProcAttr = credential(p.as)
	cmd.Dir = "/"
	_ = cmd.Run() // whether it helped shows in the wait that follows
}

// reapOrphans waits until no child is left. Those of a server that was killed end by themselves, soon after they
// notice; one that computes without ever looking up is killed.
func reapOrphans() error {
	killAt, giveUpAt := time.Now().Add(2*time.Second), time.Now().Add(stopLimit)
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.ECHILD):
			return nil
		case pid > 0 || errors.Is(err, syscall.EINTR):
			continue
		case time.Now().After(giveUpAt):
			return errors.New("processes of the server do not end")
		case time.Now().After(killAt):
			killChildren()
		}
		time.Sleep(readyInterval) // WNOHANG has no timed variant
	}
}

// credential makes a child run as another account, without the groups of this one.
func credential(as *account) *syscall.SysProcAttr {
	if as == nil {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: as.UID, Gid: as.GID}}
}
