package race

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/server"
)

// assembleChildren starts one process for each instance and lets the acquirer listen on loopback for them.
func assembleChildren(ctx context.Context, o Options, srv *server.Server, schema *server.Schema, acq *acquirer.Acquirer) (_ *team, err error) {
	if len(o.Child) == 0 {
		return nil, errors.New("start instances: this program does not know how to start itself")
	}
	url, hangUp, err := acq.Listen(ctx)
	if err != nil {
		return nil, err
	}
	t := &team{after: hangUp}
	defer func() {
		if err != nil {
			err = errors.Join(err, t.close())
		}
	}()
	cfg := attemptsConfig(schema)
	s := setup{
		DSN: srv.DSN(), SearchPath: cfg.RuntimeParams["search_path"], AppName: cfg.RuntimeParams["application_name"],
		Pool: o.Pool, Isolation: o.Isolation, Strategy: o.Strategy.Name, Seed: o.Seed, Lease: o.Lease, Acquirer: url, Timeout: o.AttemptTimeout,
	}
	for n := range o.Instances {
		c, err := startChild(ctx, o.Child, s)
		if err != nil {
			return t, fmt.Errorf("start instance %d of %d: %w", n+1, o.Instances, err)
		}
		t.members = append(t.members, c)
	}
	return t, nil
}

// child is an instance in a process of its own.
type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *tail
	line   line
}

// startChild starts the process and waits until its pool is there. The context kills the process: on Ctrl-C there is nothing
// left for it to say.
func startChild(ctx context.Context, command []string, s setup) (*child, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	ownGroup(cmd)
	cmd.WaitDelay = 5 * time.Second
	c := &child{cmd: cmd, stderr: &tail{}}
	cmd.Stderr = c.stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.stdin, c.line = stdin, newLine(stdout, stdin)
	if _, err := c.ask(s); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *child) ask(v any) ([]instance.Record, error) {
	if err := c.line.enc.Encode(v); err != nil {
		return nil, c.gone(err)
	}
	return c.hear()
}

func (c *child) hear() ([]instance.Record, error) {
	var r reply
	if err := c.line.dec.Decode(&r); err != nil {
		return nil, c.gone(err)
	}
	if r.Error != "" {
		return nil, errors.New(r.Error)
	}
	return r.Records, nil
}

func (c *child) gone(err error) error {
	said := strings.TrimSpace(c.stderr.String())
	if said == "" {
		return fmt.Errorf("the instance's process is gone: %w", err)
	}
	return fmt.Errorf("the instance's process is gone: %w: %s", err, said)
}

func (c *child) warmUp(context.Context) error {
	_, err := c.ask(order{WarmUp: true})
	return err
}

func (c *child) arm(_ context.Context, s salvo) error {
	_, err := c.ask(order{Arm: &s})
	return err
}

// fire only writes: to wait for an answer here would hold back the other instances.
func (c *child) fire() error {
	if err := c.line.enc.Encode(order{Fire: true}); err != nil {
		return c.gone(err)
	}
	return nil
}

func (c *child) collect() ([]instance.Record, error) { return c.hear() }

// close ends the child by ending its stdin, and waits for it.
func (c *child) close() error {
	c.stdin.Close()
	err := c.cmd.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && !exit.Exited() {
		return nil // killed with the context
	}
	return err
}
