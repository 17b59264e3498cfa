package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/race"
	"idemlab/internal/retry"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

func (a *app) retry() *cobra.Command {
	var f retryFlags
	c := &cobra.Command{
		Use:   "retry",
		Short: "A client that times out and comes back, over a path on which things go wrong",
		Long: `A client with a time-out and a retry policy against a strategy, with real processes: the service listens on loopback, is killed where
a fault says so and replaced on the same tables, and the acquirer takes its time. What the customer was told last is set against what
was taken.

Each intent is a customer who taps --clicks times within the time-out. Each tap is a request and up to --retries more, with the same key
(--key-policy), until one of them has a final answer: charged, replayed, declined, or mismatched. Retry-After is honoured up to
--retry-after-cap, so that runs stay short.

Faults, each with --fault STEP:KIND[@WHICH]:

  request:lost                 the request never reaches the service
  answer:lost                  the service has answered, and the client never hears of it
  capture:request-lost         the acquirer never hears of it
  capture:reply-lost           the money moves, and the service never hears of it
  capture:late                 answered later than usual, by the client's time-out
  capture:decline              refused
  capture:error-before         the acquirer answers 500, and no money moves
  capture:error-after          the money moves, and then the acquirer answers 500
  service:kill@PLACE[,WHICH]   the service's process is killed before or after a step: after-capture, before-record
  STEP:ack-lost                a statement is done, and the connection breaks before its acknowledgement: commit:ack-lost
  postgres:restart@ATTEMPT     PostgreSQL crashes and recovers before that request of the run (the server that is started here)
  all@SHARE                    all of them but the last; of the kills the one after the capture

WHICH is a number, the nth time that an intent comes to the step, or a share of the times, such as 5%, by the seed. Without it the
first time is struck: a retry then shows what came of it. A step is the capture, begin, commit or one that the strategy names
(idemlab explain).

With --reconcile what has been PROCESSANDO for longer than the lease is asked about at the acquirer and finished, while the run goes on
and at its end; then, with the faults off, each customer without a final answer comes back. Without it orphans stay, and are named.

With --effect=email the service sends e-mails over SMTP in the place of captures, and the faults of the capture are those of a mail
server: capture:reply-lost is a 250 that is lost, an error is a 451. Nobody can be asked what became of an e-mail, so that its orphans
stay, with --reconcile, too.`,
		Example: `  idemlab retry --strategy=check-then-act --timeout 30ms --acquirer-latency 50ms --clicks 3
  idemlab retry --strategy=insert-first --fault service:kill@after-capture --reconcile
  idemlab retry --strategy=insert-first --fault all@5% --intents 500 --reconcile --fail-on 'retry.final_answers.never>0' --junit retry.xml
  idemlab retry --strategy=check-then-act --effect=email --fault capture:reply-lost
  idemlab retry --strategy=lease-takeover --lease 100ms --acquirer-latency 500ms --timeout 200ms`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			options, err := f.options(a)
			if err != nil {
				return err
			}
			return a.runRetry(c.Context(), f, options)
		},
	}
	f.add(c)
	return c
}

// runRetry tries one strategy after another on one server, and puts out one document, also where it ends early.
func (a *app) runRetry(ctx context.Context, f retryFlags, options []retry.Options) error {
	if err := f.output.prepare(scenarios.ChargeOnce); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, skipped, err := a.retryAll(ctx, f, options)
	if len(runs) == 0 && err != nil {
		return err
	}
	d := document(ctx, runs, err)
	d.Skipped = skipped
	return a.put(f.output, "retry", started, d)
}

func (a *app) retryAll(ctx context.Context, f retryFlags, options []retry.Options) (runs []results.Run, skipped []results.Skipped, err error) {
	first := options[0]
	srv, err := server.Open(ctx, f.server.options(a, first.Connections()))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	options, skipped, err = able(a, srv, options, func(o retry.Options) scenarios.Strategy { return o.Strategy })
	if err != nil {
		return nil, skipped, err
	}
	control, err := race.Control(ctx, srv, race.Options{
		Scenario: scenarios.ChargeOnce, Strategy: first.Strategy, Isolation: first.Isolation, Seed: first.Seed, DDL: first.DDL, Effect: first.Effect,
	})
	if err != nil {
		return nil, skipped, fmt.Errorf("control: %w", err)
	}
	var done atomic.Int64
	bar := a.progress(int64(len(options)*first.Intents), &done)
	defer bar.stop()
	var errs []error
	for _, o := range options {
		o.Control, o.Done = &control, &done
		o.Kept = func(schema string) {
			a.say("kept: look with\n  psql … -c 'SELECT * FROM %s.cobranca'\nand drop with\n  DROP SCHEMA %s CASCADE", schema, schema)
		}
		bar.describe(o.Strategy.Name)
		run, err := retry.Run(ctx, srv, o)
		run.Tool.Version, run.Settings.Schema = version, f.common.ddlFile
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.Strategy.Name, err))
		}
		runs = append(runs, run)
		if ctx.Err() != nil || errors.Is(err, retry.ErrServiceLost) {
			break
		}
	}
	return runs, skipped, errors.Join(errs...)
}
