package load

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/child"
	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/scenarios"
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
		Pool: o.Pool, Isolation: o.Isolation, Strategy: o.Strategy.Name, Seed: o.Seed, Lease: o.Lease, Acquirer: url,
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
	enc     *gob.Encoder
	dec     *gob.Decoder
}

// startChild starts the process and waits until its pool is there. Ctrl-C does not kill it: it is told to stop, and what it
// measured counts.
func startChild(ctx context.Context, command []string, s setup) (*instanceProcess, error) {
	p, err := child.Start(context.WithoutCancel(ctx), command)
	if err != nil {
		return nil, err
	}
	c := &instanceProcess{p, gob.NewEncoder(p.In), gob.NewDecoder(p.Out)}
	if _, err := c.ask(s); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *instanceProcess) ask(v any) (reply, error) {
	if err := c.enc.Encode(v); err != nil {
		return reply{}, c.process.Gone(err)
	}
	return c.hear()
}

func (c *instanceProcess) hear() (reply, error) {
	var r reply
	if err := c.dec.Decode(&r); err != nil {
		return r, c.process.Gone(err)
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

func (c *instanceProcess) warmUp(context.Context) error {
	_, err := c.ask(order{WarmUp: true})
	return err
}

func (c *instanceProcess) prepare(_ context.Context, j job) error {
	_, err := c.ask(order{Job: &j})
	return err
}

func (c *instanceProcess) run(ctx context.Context, w window, hand func(share)) error {
	if err := c.enc.Encode(order{Run: &w}); err != nil {
		return c.process.Gone(err)
	}
	stop := context.AfterFunc(ctx, func() {
		var why cut
		if errors.As(context.Cause(ctx), &why) {
			_ = c.enc.Encode(order{Stop: &why}) // nothing else is sent during a run
		}
		_ = c.process.In.Close() // without a word before it, the child takes it for the order to stop
	})
	defer stop()
	for {
		r, err := c.hear()
		if err != nil {
			return err
		}
		if r.Share == nil {
			return nil
		}
		hand(r.Share.unpack())
	}
}

func (c *instanceProcess) close() error { return c.process.Close() }

// setup is the first value that a child reads. It travels over the pipe and not as an argument, because a DSN may hold a password.
type setup struct {
	DSN        string
	SearchPath string
	AppName    string
	Pool       int
	Isolation  pgx.TxIsoLevel
	Strategy   string
	Seed       uint64
	Lease      time.Duration
	Acquirer   string // base URL
}

// order is every further value: exactly one of the fields is set.
type order struct {
	WarmUp bool
	Job    *job
	Run    *window
	Stop   *cut // the run under way, and with it the instance
}

// reply answers each order: a run with its shares and then with nothing, the others with nothing but the absence of an error.
type reply struct {
	Error string
	Share *packed
}

// ServeInstance is one more instance of the service, in a process of its own: it reads its setup and then orders from stdin,
// until the run closes it or dies. It returns an error where it could not even say what is wrong.
func ServeInstance(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	dec, enc := gob.NewDecoder(stdin), gob.NewEncoder(stdout)
	var s setup
	if err := dec.Decode(&s); err != nil {
		return fmt.Errorf("read setup: %w", err)
	}
	l, err := s.open(ctx)
	if err := answer(enc, err); err != nil || l == nil {
		return err
	}
	defer l.close()
	for o := range orders(dec, stop) {
		var failed error
		switch {
		case o.WarmUp:
			failed = l.warmUp(ctx)
		case o.Job != nil:
			failed = l.prepare(ctx, *o.Job)
		case o.Run != nil:
			var broken error // the pipe
			failed = l.run(ctx, *o.Run, func(s share) {
				if broken == nil {
					broken = enc.Encode(reply{Share: pack(s)})
				}
			})
			if broken != nil {
				return broken
			}
		}
		if err := answer(enc, failed); err != nil {
			return err
		}
	}
	return nil
}

func answer(enc *gob.Encoder, failed error) error {
	var r reply
	if failed != nil {
		r.Error = failed.Error()
	}
	return enc.Encode(r)
}

// orders reads what the run wants. When it is to stop, or the run has closed the pipe, or is gone, stop is called at once, also while
// a job is under way: it ends as after Ctrl-C.
func orders(dec *gob.Decoder, stop context.CancelCauseFunc) <-chan order {
	c := make(chan order)
	go func() {
		defer close(c)
		for {
			var o order
			if err := dec.Decode(&o); err != nil {
				stop(cut{time.Now()})
				return
			}
			if o.Stop != nil {
				stop(*o.Stop)
				continue
			}
			c <- o
		}
	}()
	return c
}

func (s setup) open(ctx context.Context) (*local, error) {
	strategy, ok := scenarios.Named(s.Strategy)
	if !ok {
		return nil, fmt.Errorf("no strategy %q in this program", s.Strategy)
	}
	cfg, err := server.ParseDSN(s.DSN)
	if err != nil {
		return nil, err
	}
	cfg.RuntimeParams["search_path"] = s.SearchPath
	beside := cfg.Copy() // not one of the attempts', and not sampled
	cfg.RuntimeParams["application_name"] = s.AppName
	inst, err := instance.Open(ctx, instance.Config{Conn: cfg, Pool: s.Pool, Isolation: s.Isolation, Strategy: strategy, Seed: s.Seed, Lease: s.Lease})
	if err != nil {
		return nil, err
	}
	remote := acquirer.Dial(s.Acquirer, s.Pool)
	return &local{inst: inst, acquire: remote.For, hangUp: remote.Close, prepares: func(ctx context.Context, d *driver) (*preparer, error) {
		return startPreparer(ctx, beside, strategy.Scenario(), strategy, d)
	}}, nil
}
