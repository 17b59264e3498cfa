package cmd

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/expiry"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// expiryFlags are the flags of expiry as typed.
type expiryFlags struct {
	server serverFlags
	output outputFlags
	common commonFlags

	answered, unfinished, fresh, batch int
	lifetime, retryAfter               time.Duration
	purge                              string
	declines                           float64
	dedup, keep                        bool
}

func (a *app) expiry() *cobra.Command {
	var f expiryFlags
	c := &cobra.Command{
		Use:   "expiry",
		Short: "Purge keys that have had their time, and show what the client is charged that comes again later",
		Long: `Charge some intents, let a day go by, have a purger delete the keys whose lifetime is over while new intents come in, and then have
the clients of the old ones come again. With the key alone a retry that comes later than the key's lifetime is a new charge; a row
for the business event itself (business-event), which is not purged, still knows it.

The purger deletes finished keys. With --purge everything it deletes claims that are PROCESSANDO, too, to be seen failing: some
attempts are still at the acquirer when it comes.

Nobody waits for the day: what is in the table is made older by it, and the purger goes by the server's clock.

idemlab explore --beside purger shows every order of a purge and two attempts.`,
		Example: `  idemlab expiry
  idemlab expiry --key-lifetime 72h --retry-after 25h --strategy=insert-first
  idemlab expiry --strategy=insert-first,business-event --purge everything --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list, com, err := f.demonstrations(a)
			if err != nil {
				return err
			}
			return a.demonstrate(c.Context(), "expiry", f.server, f.output, com, list)
		},
	}
	fl := c.Flags()
	f.common.add(c)
	f.common.strategies = []string{scenarios.InsertFirst.Name, scenarios.BusinessEvent.Name}
	fl.Lookup("strategy").DefValue = strings.Join(f.common.strategies, ",")
	fl.DurationVar(&f.lifetime, "key-lifetime", 24*time.Hour, "how long a key is kept")
	fl.DurationVar(&f.retryAfter, "retry-after", 25*time.Hour, "when the clients come again")
	fl.StringVar(&f.purge, "purge", string(expiry.Finished), "what is deleted when its time is over: finished keys, everything (wrong) or nothing")
	fl.IntVarP(&f.answered, "intents", "m", 10, "intents whose first attempt was answered")
	fl.IntVar(&f.unfinished, "unfinished", 2, "intents whose first attempt is still at the acquirer when the purger comes")
	fl.IntVar(&f.fresh, "fresh", 10, "new intents while the purger is at work")
	fl.IntVar(&f.batch, "batch", 4, "rows that the purger deletes at once")
	fl.Float64Var(&f.declines, "decline-share", 0, "share of the intents that the acquirer declines, 0 to 1")
	fl.BoolVar(&f.dedup, "acquirer-dedup", false, "the acquirer moves money once for each key, for ever; what strategies show of themselves, they show without it")
	fl.BoolVar(&f.keep, "keep", false, "keep the tables afterwards, on a server of yours")
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "expiry")
	// The only error is a flag that does not exist, which the first test run would show.
	_ = c.RegisterFlagCompletionFunc("purge", cobra.FixedCompletions(purgeNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func purgeNames() []string {
	var names []string
	for _, p := range expiry.Purges() {
		names = append(names, string(p))
	}
	return names
}

// demonstrations checks everything that can be wrong before a server is looked for, and returns one for each strategy.
func (f *expiryFlags) demonstrations(a *app) ([]demonstration, common, error) {
	const longest = 10 * 365 * 24 * time.Hour
	for _, n := range []struct {
		flag            string
		value, min, max int
	}{{"intents", f.answered, 0, 1000}, {"unfinished", f.unfinished, 0, 50}, {"fresh", f.fresh, 0, 1000}, {"batch", f.batch, 1, 100_000}} {
		if n.value < n.min || n.value > n.max {
			return nil, common{}, usagef("--%s %d: say %d to %d", n.flag, n.value, n.min, n.max)
		}
	}
	switch {
	case f.answered+f.unfinished == 0:
		return nil, common{}, usagef("--intents 0 --unfinished 0: then nobody comes again; say more of one of them")
	case f.lifetime < time.Minute || f.lifetime > longest:
		return nil, common{}, usagef("--key-lifetime %v: say 1m to %v", f.lifetime, longest)
	case f.retryAfter < 0 || f.retryAfter > longest:
		return nil, common{}, usagef("--retry-after %v: say 0 to %v", f.retryAfter, longest)
	case f.lifetime < f.retryAfter && f.retryAfter-f.lifetime < time.Second:
		// What was charged last is younger than what was charged first by as long as that took.
		return nil, common{}, usagef("--retry-after %v is too near to --key-lifetime %v: say at least a second more, or not more", f.retryAfter, f.lifetime)
	case f.retryAfter <= f.lifetime && f.lifetime-f.retryAfter < time.Minute:
		return nil, common{}, usagef("--retry-after %v is too near to --key-lifetime %v: say at least a minute less, or more", f.retryAfter, f.lifetime)
	case !slices.Contains(purgeNames(), f.purge):
		return nil, common{}, usagef("--purge=%s: say finished, everything or nothing", f.purge)
	case f.answered == 0 && f.purge == string(expiry.Finished) && f.lifetime < f.retryAfter:
		// What is left is PROCESSANDO, which this purger spares: no key would have had its time, and nothing could be concluded.
		return nil, common{}, usagef("--intents 0: with --purge %s nothing would be purged; say 1 or more, or --purge everything", f.purge)
	case f.declines < 0 || f.declines > 1 || f.declines != f.declines:
		return nil, common{}, usagef("--decline-share %v: say a share from 0 to 1", f.declines)
	}
	if err := f.server.keepable(a, f.keep); err != nil {
		return nil, common{}, err
	}
	c, err := f.common.withAcquirer(a, "expiry")
	if err != nil {
		return nil, c, err
	}
	o := expiry.Options{
		Answered: f.answered, Unfinished: f.unfinished, Fresh: f.fresh, Lifetime: f.lifetime, RetryAfter: f.retryAfter,
		Purge: expiry.Purge(f.purge), Batch: f.batch, Isolation: c.isolation, Seed: c.seed, Expect: c.expect, DDL: c.ddl,
		Acquirer: acquirer.Options{DeclineShare: f.declines, Dedup: f.dedup, Seed: c.seed}, Keep: f.keep, Kept: a.saysKept("cobranca"),
	}
	var list []demonstration
	for _, s := range c.strategies {
		o := o
		o.Strategy = s
		list = append(list, demonstration{strategy: s, intents: o.Intents(), connections: o.Connections(),
			run: func(ctx context.Context, srv *server.Server, control *results.Control, done *atomic.Int64) (results.Run, error) {
				o.Control, o.Done = control, done
				return expiry.Run(ctx, srv, o)
			}})
	}
	a.warnDeclines(f.declines, scenarios.Money)
	return list, c, nil
}
