package race

import (
	"context"
	"fmt"
	"io"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/scenarios"
)

// ServeInstance is one more instance of the service, in a process of its own: it reads its setup and then orders from stdin,
// until the race closes it or dies. It returns an error where it could not even say what is wrong.
func ServeInstance(ctx context.Context, stdin io.Reader, stdout io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l := newLine(stdin, stdout)
	var s setup
	if err := l.dec.Decode(&s); err != nil {
		return fmt.Errorf("read setup: %w", err)
	}
	m, err := s.open(ctx)
	if err := l.answer(nil, err); err != nil || m == nil {
		return err
	}
	defer m.close()
	for o := range orders(l, stop) {
		if err := l.answer(m.obey(ctx, o)); err != nil {
			return err
		}
	}
	return nil
}

// orders reads what the race wants. When the race has closed the pipe, or is gone, gone is called at once, also while an order
// is being obeyed: attempts that wait in PostgreSQL end with it.
func orders(l line, gone func()) <-chan order {
	c := make(chan order)
	go func() {
		defer close(c)
		for {
			var o order
			if err := l.dec.Decode(&o); err != nil {
				gone()
				return
			}
			c <- o
		}
	}()
	return c
}

func (l line) answer(records []instance.Record, failed error) error {
	r := reply{Records: records}
	if failed != nil {
		r.Error = failed.Error()
	}
	return l.enc.Encode(r)
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
	cfg.RuntimeParams["application_name"] = s.AppName
	inst, err := instance.Open(ctx, instance.Config{Conn: cfg, Pool: s.Pool, Isolation: s.Isolation, Strategy: strategy, Seed: s.Seed, Lease: s.Lease})
	if err != nil {
		return nil, err
	}
	remote, err := acquirer.At(s.Acquirer, s.Pool)
	if err != nil {
		inst.Close()
		return nil, err
	}
	m := newLocal(inst, remote.For, s.Timeout)
	m.hangUp = remote.Close
	return m, nil
}

func (l *local) obey(ctx context.Context, o order) ([]instance.Record, error) {
	switch {
	case o.WarmUp:
		return nil, l.warmUp(ctx)
	case o.Arm != nil:
		return nil, l.arm(ctx, *o.Arm)
	case o.Fire:
		if err := l.fire(); err != nil {
			return nil, err
		}
		return l.collect()
	}
	return nil, fmt.Errorf("empty order")
}
