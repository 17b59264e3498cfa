package race

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/scenarios"
)

// member is one instance of the service as the race sees it: in this process, or a process of its own.
type member interface {
	// warmUp connects the pool and prepares every statement on it.
	warmUp(ctx context.Context) error
	// arm parks attempts at the gate; it returns when all of them stand there.
	arm(ctx context.Context, s salvo) error
	// fire opens the gate.
	fire() error
	// collect waits for the answers, in the order of the salvo.
	collect() ([]instance.Record, error)
	close() error
}

// salvo is the attempts of one intent that one member is to make together.
type salvo struct {
	Intent   string              // what the ledger calls it
	Requests []scenarios.Request // one for each attempt
}

// team is all instances, behind one load balancer.
type team struct {
	members []member
	after   func() error // what is to be closed behind the last member
}

// assemble opens the instances. They share one acquirer; with several processes it listens on loopback.
func assemble(ctx context.Context, o Options, srv *server.Server, schema *server.Schema, acq *acquirer.Acquirer) (*team, error) {
	if o.Instances == 1 {
		cfg := attemptsConfig(schema)
		inst, err := instance.Open(ctx, instance.Config{
			Conn: cfg, Pool: o.Pool, Isolation: o.Isolation, Strategy: o.Strategy, Seed: o.Seed, Lease: o.Lease,
		})
		if err != nil {
			return nil, err
		}
		of, hangUp, err := o.reach(ctx, acq)
		if err != nil {
			inst.Close()
			return nil, err
		}
		return &team{members: []member{newLocal(inst, of, o.AttemptTimeout)}, after: hangUp}, nil
	}
	return assembleChildren(ctx, o, srv, schema, acq)
}

// reach is how attempts in this process get at the acquirer: straight, or, where the effect is an e-mail, as any client would.
func (o Options) reach(ctx context.Context, acq *acquirer.Acquirer) (of func(intent string) scenarios.Acquirer, hangUp func() error, err error) {
	if o.Effect == scenarios.Money {
		return acq.For, func() error { return nil }, nil
	}
	url, stop, err := acq.ListenFor(ctx, o.Effect)
	if err != nil {
		return nil, nil, err
	}
	e, err := acquirer.At(url, o.Attempts)
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return e.For, func() error {
		e.Close()
		return stop()
	}, nil
}

func attemptsConfig(schema *server.Schema) *pgx.ConnConfig {
	cfg := schema.Config()
	cfg.RuntimeParams["application_name"] = appName(schema)
	return cfg
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

// shoot deals requests over the members, in turn as a load balancer would, lets them go together and returns the records in the
// order of the requests.
func (t *team) shoot(ctx context.Context, name string, requests []scenarios.Request) ([]instance.Record, error) {
	salvos := make([]salvo, len(t.members))
	for i, r := range requests {
		s := &salvos[i%len(salvos)]
		s.Intent, s.Requests = name, append(s.Requests, r)
	}
	var armed []member
	for i, m := range t.members {
		if len(salvos[i].Requests) == 0 {
			continue
		}
		if err := m.arm(ctx, salvos[i]); err != nil {
			return nil, fmt.Errorf("arm instance %d: %w", i+1, err)
		}
		armed = append(armed, m)
	}
	for _, m := range armed {
		if err := m.fire(); err != nil {
			return nil, fmt.Errorf("release the attempts: %w", err)
		}
	}
	records := make([]instance.Record, len(requests))
	for i, m := range armed {
		got, err := m.collect()
		if err != nil {
			return nil, fmt.Errorf("collect from instance %d: %w", i+1, err)
		}
		for n, rec := range got {
			records[n*len(t.members)+i] = rec
		}
	}
	return records, nil
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
