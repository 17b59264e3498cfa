package load

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/server"
)

// team is all instances, behind one load balancer.
type team struct {
	members []member
	after   func() error // what is to be closed behind the last member; nil for nothing
}

// assemble opens the instances. They share one acquirer; with several processes it listens on loopback.
func assemble(ctx context.Context, o Options, srv *server.Server, schema *server.Schema, acq *acquirer.Acquirer) (*team, error) {
	if o.Instances > 1 {
		return assembleChildren(ctx, o, srv, schema, acq)
	}
	inst, err := instance.Open(ctx, instance.Config{
		Conn: attemptsConfig(schema), Pool: o.Pool, Isolation: o.Isolation, Strategy: o.Strategy, Seed: o.Seed, Lease: o.Lease,
	})
	if err != nil {
		return nil, err
	}
	l := &local{inst: inst, acquire: acq.For, prepares: func(ctx context.Context, d *driver) (*preparer, error) {
		return startPreparer(ctx, schema.Config(), o.Scenario, o.Strategy, d)
	}}
	return &team{members: []member{l}}, nil
}

// warmUp takes one member after another: side by side their warm-ups would race, and at SERIALIZABLE be refused.
func (t *team) warmUp(ctx context.Context) error {
	for i, m := range t.members {
		if err := m.warmUp(ctx); err != nil {
			return fmt.Errorf("instance %d: %w", i+1, err)
		}
	}
	return nil
}

func (t *team) close() error {
	var errs []error
	for _, m := range t.members {
		errs = append(errs, m.close())
	}
	if t.after != nil {
		errs = append(errs, t.after())
	}
	return errors.Join(errs...)
}

// prepare gets every member ready for its part.
func (t *team) prepare(ctx context.Context, o Options) error {
	for i, m := range t.members {
		if err := m.prepare(ctx, o.job(i)); err != nil {
			return fmt.Errorf("instance %d: %w", i+1, err)
		}
	}
	return nil
}

// run lets every member make its part of the attempts, and enters what they measure. Lost ends ctx: the others' work proves nothing any
// more where a member failed or the server is gone.
func (t *team) run(ctx context.Context, lost func(), m *measurement) error {
	type from struct {
		member int
		share  share
		taken  chan struct{}
	}
	shares := make(chan from)
	var all errgroup.Group
	for i, member := range t.members {
		all.Go(func() error {
			err := member.run(ctx, m.window, func(s share) {
				f := from{i, s, make(chan struct{})}
				shares <- f
				<-f.taken // the tally is filled again after this
			})
			if err != nil {
				lost()
			}
			return err
		})
	}
	ended := make(chan error, 1)
	go func() {
		ended <- all.Wait()
		close(shares)
	}()
	for f := range shares {
		m.enter(f.member, f.share)
		close(f.taken)
		if m.book.totals.lost != "" {
			lost()
		}
	}
	err := <-ended
	if why := m.book.totals.lost; why != "" {
		return fmt.Errorf("%w: %s", ErrServerLost, why)
	}
	return err
}

// job is an instance's part of the load.
func (o Options) job(number int) job {
	j := job{
		Plan: newPlan(o), Number: number, Of: o.Instances, Rate: o.Rate / float64(o.Instances), Constant: o.Constant,
		Most: o.MaxInFlight, Timeout: o.AttemptTimeout,
	}
	if !o.open() {
		j.Clients = o.Clients / o.Instances
		if number < o.Clients%o.Instances {
			j.Clients++
		}
	}
	return j
}
