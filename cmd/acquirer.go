package cmd

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/web"
	"idemlab/scenarios"
)

func (a *app) acquirer() *cobra.Command {
	var f acquirerFlags
	c := &cobra.Command{
		Use:   "acquirer",
		Short: "Run the simulated acquirer as a process of its own",
		Long: `Run the simulated acquirer as a process of its own, for services that are told of it with --acquirer. Its ledger is what
counts: it says what was asked for and whose money moved, whatever became of the service and its tables.

  POST   /captures        {"key": …, "order_id": …, "amount_cents": …}; "intent" says whose wish it is, else the key does;
                          "installment" which of its order's charges it is, from 1, else the first
  GET    /receipts?key=…  what became of a key
  GET    /ledger          every entry, and the sums
  GET    /faults          the rules in force, and how often each has struck
  PUT    /faults          {"rules": [{"fault": "lost-reply", "nth": 1}]}, in the place of all earlier ones
  DELETE /faults          none from now on

A rule names a fault (lost-request, lost-reply, error-before, error-after, late, decline), and may narrow it down: "nth" (request of
its intent, from 1), "share" (0 to 1), "intent"; "delay_ms" is how much later an answer comes that is late.

With --effect=email it is a mail server as well, and its URL, smtp://…, is the first line on stdout: each e-mail that a service sends
there is a capture. It delivers none, and refuses what is not the lab's. A lost reply is then a 250 that is lost, an error a 451.
E-mails that are under way when the command ends are cut off.`,
		Example: `  idemlab acquirer
  idemlab acquirer --effect=email
  idemlab acquirer --ledger ledger.jsonl --acquirer-latency exp:200ms
  curl -X PUT -d '{"rules": [{"fault": "lost-reply", "nth": 1}]}' http://127.0.0.1:8081/faults
  curl http://127.0.0.1:8081/ledger`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(c.Flags().Changed); err != nil {
				return err
			}
			return a.runAcquirer(c.Context(), f)
		},
	}
	f.add(c)
	return c
}

// acquirerFlags are the flags of acquirer as typed.
type acquirerFlags struct {
	listen listenFlags
	world  worldFlags
	effect effectFlag
	smtp   string // address of the mail server
	ledger string
	seed   uint64
}

func (f *acquirerFlags) add(c *cobra.Command) {
	f.listen.add(c, "127.0.0.1:8081")
	f.world.add(c)
	f.effect.add(c)
	c.Flags().StringVar(&f.smtp, "listen-smtp", "127.0.0.1:8025", "address to listen on for e-mails, with --effect=email; port 0 takes any that is free")
	c.Flags().StringVar(&f.ledger, "ledger", "", "keep the ledger in this file, a line for each entry, flushed before the answer; what it holds is read back")
	c.Flags().Uint64Var(&f.seed, "seed", 1, "seed of everything that is left to chance")
}

func (f *acquirerFlags) check(changed func(flag string) bool) error {
	if changed("listen-smtp") && f.effect.Effect != scenarios.EMail {
		return usagef("--listen-smtp is for e-mails: say --effect=email, too")
	}
	if err := web.CheckAddress(f.smtp); err != nil {
		return usagef("--listen-smtp: %w", err)
	}
	return errors.Join(f.listen.check(), f.world.check())
}

// worldFlags say how the acquirer behaves, wherever it runs.
type worldFlags struct {
	latency  acquirer.Latency
	declines float64
	dedup    bool
}

func (f *worldFlags) add(c *cobra.Command) {
	f.latency = acquirer.Fixed(50 * time.Millisecond)
	fl := c.Flags()
	fl.Var(&f.latency, "acquirer-latency", "time the acquirer takes: 50ms, uniform:20ms,80ms or exp:50ms")
	fl.Float64Var(&f.declines, "decline-share", 0, "share of the intents that the acquirer declines, 0 to 1")
	fl.BoolVar(&f.dedup, "acquirer-dedup", false, "the acquirer moves money once for each key")
}

func (f *worldFlags) check() error {
	if !(f.declines >= 0 && f.declines <= 1) { // a NaN is neither
		return usagef("--decline-share %v: say a share from 0 to 1", f.declines)
	}
	return nil
}

func (f *worldFlags) options(seed uint64) acquirer.Options {
	return acquirer.Options{Latency: f.latency, DeclineShare: f.declines, Dedup: f.dedup, Seed: seed}
}

func (a *app) runAcquirer(ctx context.Context, f acquirerFlags) (err error) {
	ctx, release := a.untilTold(ctx, f.listen)
	defer release()
	l, err := web.Listen(ctx, f.listen.addr)
	if err != nil {
		return err
	}
	acq := acquirer.New(f.world.options(f.seed))
	if f.ledger != "" {
		var notes []string
		if acq, notes, err = acquirer.Open(f.world.options(f.seed), f.ledger); err != nil {
			return errors.Join(err, l.Close())
		}
		for _, note := range notes {
			a.say("warning: %s: %s", f.ledger, note)
		}
		if n := len(acq.Ledger()); n > 0 {
			a.say("%s: %d entries read back", f.ledger, n)
		}
	}
	hangUp, err := a.serveMail(ctx, f, acq)
	if err != nil {
		return errors.Join(err, l.Close(), acq.Close())
	}
	work, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	err = a.serveHTTP(ctx, f.listen, l, until(work, acq.Handler()), cut)
	err = errors.Join(err, hangUp()) // nothing is counted from here on
	a.sayTold(acq, f.effect.Effect)
	return errors.Join(err, acq.Close())
}

// serveMail listens for e-mails, where they are the effect, says where, and returns what ends it.
func (a *app) serveMail(ctx context.Context, f acquirerFlags, acq *acquirer.Acquirer) (hangUp func() error, err error) {
	if f.effect.Effect != scenarios.EMail {
		return func() error { return nil }, nil
	}
	l, err := web.Listen(ctx, f.smtp)
	if err != nil {
		return nil, err
	}
	if web.Open(l) {
		a.say("warning: %s can be reached from other machines, and asks nobody who they are", l.Addr())
	}
	if _, err := fmt.Fprintln(a.stdout, "smtp"+strings.TrimPrefix(web.URL(l), "http")); err != nil {
		return nil, errors.Join(fmt.Errorf("say the address: %w", err), l.Close())
	}
	return acq.ServeSMTP(l, ""), nil
}
