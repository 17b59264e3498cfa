// Package child runs this program once more as a child that talks over its stdin and stdout: one more instance of the service. A
// pipe releases several processes as evenly as a futex, NOTIFY or an advisory lock does, and ends with the parent, whatever
// kills it.
package child

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Process is a child that runs.
type Process struct {
	In  io.WriteCloser // its stdin
	Out io.Reader      // its stdout

	cmd    *exec.Cmd
	stderr *tail
}

// Start starts a command line. The end of the context kills it.
func Start(ctx context.Context, command []string) (*Process, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	p := &Process{cmd: cmd, stderr: &tail{}}
	cmd.Stderr = p.stderr
	var err error
	if p.In, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.Out, err = cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return p, nil
}

// Gone explains an error in the conversation with a child by what it last said on stderr.
func (p *Process) Gone(err error) error {
	said := strings.TrimSpace(p.stderr.String())
	if said == "" {
		return fmt.Errorf("the instance's process is gone: %w", err)
	}
	return fmt.Errorf("the instance's process is gone: %w: %s", err, said)
}

// Close ends the child by ending its stdin, and waits for it.
func (p *Process) Close() error {
	_ = p.In.Close() // it may be closed already
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() {
		return nil // killed with the context
	}
	return err
}
