package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/consume"
	"idemlab/internal/race"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

func (a *app) consume() *cobra.Command {
	var f consumeFlags
	c := &cobra.Command{
		Use:   "consume",
		Short: "Run strategies as consumers of a queue, and kill them at their work",
		Long: `Run strategies as consumers of charge messages: a queue delivers at least once, and nobody asks whether that is once too often.

Consumers are processes of their own, and are killed with SIGKILL between two steps of a charge (--kills): with the message in hand,
after the capture, before the acknowledgement. Their messages are delivered again, until each is acknowledged, or set aside after
--max-deliveries. A message may also come again while its first consumer still works (--acquirer-latency longer than --window), or
because its producer sent it twice (--double-publish). A claim that a killed consumer left behind is cleared away by the next one to
meet it: older than --orphan-after, the acquirer is asked what became of it.

With --broker postgres the queue is a table (FOR UPDATE SKIP LOCKED) with a visibility window. With --broker rabbitmq it is a quorum
queue of that server, made for the run and removed after it (after kill -9 it goes by itself in ten minutes); its window is the server's own consumer_timeout, 30 minutes unless
configured, and not below one.`,
		Example: `  idemlab consume --kills 20
  idemlab consume --strategy=check-then-act,insert-first,for-update-order --broker rabbitmq --broker-url amqp://guest:guest@localhost:5672/
  idemlab consume --kills 0 --messages 6 --window 500ms --acquirer-latency 2s
  idemlab consume --strategy=insert-first --kills 0 --double-publish 0.3 --key-from message-id --expect=violated`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options, err := f.options(a)
			if err != nil {
				return err
			}
			return a.runConsume(c.Context(), f, options)
		},
	}
	f.add(c)
	return c
}

// runConsume lets one strategy after another consume, on one server, and puts out one document, also where it ends early.
func (a *app) runConsume(ctx context.Context, f consumeFlags, options []consume.Options) error {
	if err := f.output.prepare(options[0].Scenario); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, skipped, err := a.consumeAll(ctx, f, options)
	if len(runs) == 0 && err != nil {
		return err
	}
	d := document(ctx, runs, err)
	d.Skipped = skipped
	return a.put(f.output, "consume", started, d)
}

func (a *app) consumeAll(ctx context.Context, f consumeFlags, options []consume.Options) (runs []results.Run, skipped []results.Skipped, err error) {
	first := options[0]
	srv, err := server.Open(ctx, f.server.options(a, first.Connections()))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	options, skipped, err = able(a, srv, options, func(o consume.Options) scenarios.Strategy { return o.Strategy })
	if err != nil {
		return nil, skipped, err
	}
	control, err := race.Control(ctx, srv, race.Options{
		Scenario: first.Scenario, Strategy: first.Strategy, Isolation: first.Isolation, Seed: first.Seed, DDL: first.DDL,
	})
	if err != nil {
		return nil, skipped, fmt.Errorf("control: %w", err)
	}
	var errs []error
	for _, o := range options {
		var done atomic.Int64
		o.Control, o.Done = &control, &done
		bar := a.progress(int64(o.Messages()), &done)
		bar.describe(o.Strategy.Name)
		run, err := consume.Run(ctx, srv, o)
		bar.stop()
		run.Tool.Version = version
		if run.Consume != nil {
			run.Consume.Settings.Schema = f.common.ddlFile
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.Strategy.Name, err))
		}
		runs = append(runs, run)
		if ctx.Err() != nil || err != nil {
			break // the next would meet the same server and the same broker
		}
	}
	return runs, skipped, errors.Join(errs...)
}
