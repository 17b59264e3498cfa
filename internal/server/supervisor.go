//go:build unix

package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// IsSupervisor tells whether the program was started as its own supervisor. args are the arguments without the
// program's name. Programs that call Open must ask this before they read any flag, and call Supervise if so.
func IsSupervisor(args []string) bool { return len(args) == 1 && args[0] == supervisorArg }

// Supervise runs a server of our own until stdin ends, and returns the exit code of the process: 0 when everything
// was removed. It is for a process that the tool started, not for people: what to do is read from stdin, and stderr
// carries messages for the tool. It takes over the process (its signals, its children, the calling thread).
func Supervise(args []string, stdin io.Reader, stderr io.Writer) int {
	// The parent-death signal of a child belongs to the thread that forked it: this one must stay until the end.
	runtime.LockOSThread()
	// A message to a tool that is gone must fail as a write; as a signal it would end us before the cleaning up.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGINT)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGQUIT)
	defer cancel()
	v := &supervisor{out: json.NewEncoder(stderr)}
	if !IsSupervisor(args) {
		return v.fail(errors.New("not called as a supervisor"))
	}
	in := bufio.NewReader(stdin)
	line, err := in.ReadBytes('\n')
	var o order
	if err != nil || json.Unmarshal(line, &o) != nil {
		return v.fail(errors.New("this command is run by the tool itself, and is of no use by hand"))
	}
	go func() {
		_, _ = io.Copy(io.Discard, in) // returns when the tool closes the pipe or dies
		cancel()
	}()
	switch {
	case o.Start != nil:
		return v.serve(ctx, o.Start)
	case o.Fetch != nil:
		return v.fetch(ctx, o.Fetch)
	}
	return v.fail(errors.New("nothing was ordered"))
}

// supervisor writes events; its methods run in one goroutine, but for fetch.
type supervisor struct {
	mu  sync.Mutex
	out *json.Encoder
}

func (v *supervisor) tell(e event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = v.out.Encode(e) // the tool may be gone: then nobody needs to know
}

func (v *supervisor) fail(err error) int {
	v.tell(event{Kind: evFailed, Text: err.Error(), Usage: IsUsage(err)})
	return 1
}

// serve makes a server, reports it, and ends and removes it when ctx ends or the server does.
func (v *supervisor) serve(ctx context.Context, o *startOrder) (code int) {
	adoptOrphans()
	f, notes, err := makeFolder(o.Tmp, o.Account)
	if err != nil {
		return v.fail(err)
	}
	defer func() {
		if err := f.remove(); err != nil {
			code = v.fail(fmt.Errorf("removing the server's folder: %w", err))
		}
	}()
	for _, note := range notes {
		v.tell(event{Kind: evNote, Text: note})
	}
	if err := initDB(ctx, o, f); err != nil {
		return v.fail(err)
	}
	if ctx.Err() != nil {
		return 0
	}
	pg, err := startProcess(o, f, syscall.SIGQUIT, "postgres", "-D", f.data())
	if err != nil {
		return v.fail(err)
	}
	err = awaitReady(ctx, pg, f)
	if err == nil {
		v.tell(event{Kind: evReady, Dir: f.dir, OnMemory: inMemory(f.dir)})
		err = watch(ctx, pg, f)
	}
	// SIGQUIT is PostgreSQL's immediate shutdown: no checkpoint for data that is about to be removed, and the shared
	// memory is given back, which SIGKILL would not do.
	if err := errors.Join(err, pg.end(syscall.SIGQUIT)); err != nil {
		return v.fail(err)
	}
	return 0
}

// watch returns when the tool wants the end (nil) or postgres ended by itself.
func watch(ctx context.Context, pg *process, f *folder) error {
	select {
	case <-ctx.Done():
		return nil
	case <-pg.exited:
		return fmt.Errorf("the server ended by itself (%v); the end of its log:\n%s", pg.err, logTail(f))
	}
}

// awaitReady waits until postmaster.pid says that connections are accepted.
func awaitReady(ctx context.Context, pg *process, f *folder) error {
	limit := time.After(readyLimit)
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for !postmasterReady(f) {
		select {
		case <-ctx.Done():
			return nil // the tool is gone or wants no more: watch returns at once
		case <-pg.exited:
			return startupError(f)
		case <-limit:
			return fmt.Errorf("the server was not ready after %s; the end of its log:\n%s", readyLimit, logTail(f))
		case <-tick.C: // nothing can be waited for: the file is all that postgres offers
		}
	}
	return nil
}
