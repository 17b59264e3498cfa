//go:build unix

package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// embedded is the tool's side of a server of our own.
type embedded struct {
	helper   *helper
	dir      string
	onMemory bool
	notes    []string
}

func (e *embedded) dsn() string {
	return fmt.Sprintf("host=%s port=%d user=%s dbname=postgres sslmode=disable", quoteDSN(e.dir), socketPort, superuser)
}

// startEmbedded starts a supervisor with a server and waits until that is ready.
func startEmbedded(ctx context.Context, bin, conf string, env environ) (*embedded, error) {
	as, err := serverAccount(os.Geteuid())
	if err != nil {
		return nil, err
	}
	name, err := accountName(os.Geteuid())
	if err != nil {
		return nil, err
	}
	h, err := startHelper(order{Start: &startOrder{
		Bin: bin, Tmp: tmpFolders(env), Conf: conf, OSUser: name, Account: as, Path: env.get("PATH"),
	}})
	if err != nil {
		return nil, err
	}
	e := &embedded{helper: h}
	last, notes, err := h.await(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting a PostgreSQL of our own (binaries %s): %w", bin, err), h.stop(ctx))
	}
	e.dir, e.onMemory, e.notes = last.Dir, last.OnMemory, notes
	return e, nil
}

// stop ends the server and removes its folder.
func (e *embedded) stop(ctx context.Context) error {
	return errors.Join(e.helper.stop(ctx), removeAfterKill(ctx, e.dir))
}

// helper is a running supervisor.
type helper struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	events chan event    // closed when the supervisor's stderr is
	exited chan struct{} // closed when it has been waited for
	crash  bytes.Buffer  // lines that are no events: a panic; read once events is closed
}

// startHelper starts this program again, as a supervisor, in a session of its own: a Ctrl-C, or a kill of the tool's
// process group, must not reach what has to clean up after the tool.
func startHelper(o order) (*helper, error) {
	self, err := selfPath()
	if err != nil {
		return nil, fmt.Errorf("finding this program, to start its supervisor: %w", err)
	}
	line, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, supervisorArg)
	cmd.Args[0] = "idemlab" // what ps shows
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Dir = "/" // so that the supervisor keeps no folder of the user's busy
	stdin, err1 := cmd.StdinPipe()
	stderr, err2 := cmd.StderrPipe()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the supervisor: %w", err)
	}
	h := &helper{cmd: cmd, stdin: stdin, events: make(chan event, 16), exited: make(chan struct{})}
	go h.read(stderr)
	if _, err := stdin.Write(append(line, '\n')); err != nil {
		// It died at once: what it said is more use than "broken pipe", and await reports it.
		_ = stdin.Close()
	}
	return h, nil
}

// read passes the supervisor's messages on until it ends. It never blocks on a reader that has gone away.
func (h *helper) read(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			h.crash.WriteString(lines.Text() + "\n")
			continue
		}
		select {
		case h.events <- e:
		default: // nobody has read 16 of them: nobody will
		}
	}
	close(h.events)
	_ = h.cmd.Wait() // how it ended shows in what it left
	close(h.exited)
}

// await returns the event that ends the waiting, and the notes before it.
func (h *helper) await(ctx context.Context) (last event, notes []string, err error) {
	for {
		select {
		case <-ctx.Done():
			return event{}, notes, ctx.Err()
		case e, ok := <-h.events:
			switch {
			case !ok:
				return event{}, notes, fmt.Errorf("the supervisor ended without a word\n%s", strings.TrimSpace(h.crash.String()))
			case e.Kind == evNote:
				notes = append(notes, e.Text)
			case e.Kind == evFailed && e.Usage:
				return e, notes, &UsageError{Msg: e.Text}
			case e.Kind == evFailed:
				return e, notes, errors.New(e.Text)
			default:
				return e, notes, nil
			}
		}
	}
}

// stop closes the pipe, which tells the supervisor to end, and waits for it. It works under a context that has ended.
func (h *helper) stop(ctx context.Context) error {
	_ = h.stdin.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupLimit)
	defer cancel()
	select {
	case <-h.exited:
		return h.complaint()
	case <-ctx.Done():
		_ = h.cmd.Process.Kill() // the kernel then tells postgres
		return fmt.Errorf("the supervisor did not end within %s and was killed", cleanupLimit)
	}
}

// complaint is what the supervisor reported that nobody has read: that the server ended by itself, or that something
// could not be removed. Call it once the supervisor has exited.
func (h *helper) complaint() error {
	for e := range h.events {
		if e.Kind == evFailed {
			return errors.New(e.Text)
		}
	}
	if h.crash.Len() > 0 {
		return fmt.Errorf("the supervisor crashed:\n%s", strings.TrimSpace(h.crash.String()))
	}
	return nil
}
