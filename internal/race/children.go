package race

import (
	"context"
	"errors"
	"fmt"

	"idemlab/internal/acquirer"
	"idemlab/internal/child"
	"idemlab/internal/instance"
	"idemlab/internal/server"
)

// assembleChildren starts one process for each instance and lets the acquirer listen on loopback for them.
func assembleChildren(ctx context.Context, o Options, srv *server.Server, schema *server.Schema, acq *acquirer.Acquirer) (_ *team, err error) {
	if len(o.Child) == 0 {
		return nil, errors.New("start instances: this program does not know how to start itself")
	}
	url, hangUp, err := acq.ListenFor(ctx, o.Effect)
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

// instanceProcess is an instance in a process of its own.
type instanceProcess struct {
	process *child.Process
	line    line
}

// startChild starts the process and waits until its pool is there. The context kills the process: on Ctrl-C there is nothing
// left for it to say.
func startChild(ctx context.Context, command []string, s setup) (*instanceProcess, error) {
	p, err := child.Start(ctx, command)
	if err != nil {
		return nil, err
	}
	c := &instanceProcess{p, newLine(p.Out, p.In)}
	if _, err := c.ask(s); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *instanceProcess) ask(v any) ([]instance.Record, error) {
	if err := c.line.enc.Encode(v); err != nil {
		return nil, c.process.Gone(err)
	}
	return c.hear()
}

func (c *instanceProcess) hear() ([]instance.Record, error) {
	var r reply
	if err := c.line.dec.Decode(&r); err != nil {
		return nil, c.process.Gone(err)
	}
	if r.Error != "" {
		return nil, errors.New(r.Error)
	}
	return r.Records, nil
}

func (c *instanceProcess) warmUp(context.Context) error {
	_, err := c.ask(order{WarmUp: true})
	return err
}

func (c *instanceProcess) arm(_ context.Context, s salvo) error {
	_, err := c.ask(order{Arm: &s})
	return err
}

// fire only writes: to wait for an answer here would hold back the other instances.
func (c *instanceProcess) fire() error {
	if err := c.line.enc.Encode(order{Fire: true}); err != nil {
		return c.process.Gone(err)
	}
	return nil
}

func (c *instanceProcess) collect() ([]instance.Record, error) { return c.hear() }

func (c *instanceProcess) close() error { return c.process.Close() }
