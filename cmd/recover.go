package cmd

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/attempt"
	"idemlab/internal/orphans"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// recoverFlags are the flags of recover as typed.
type recoverFlags struct {
	server serverFlags
	output outputFlags
	common commonFlags

	befalls         []string
	each            int
	reconciler      string
	lease, deadline time.Duration
	latency         acquirer.Latency
	declines        float64
	dedup, keep     bool
}

func (a *app) recover() *cobra.Command {
	var f recoverFlags
	c := &cobra.Command{
		Use:   "recover",
		Short: "Kill first attempts at chosen moments, and show what a reconciler makes of what they leave",
		Long: `Kill first attempts at chosen moments, have their clients come again, and let a reconciler ask the acquirer what became of every row
that is PROCESSANDO for longer than a lease: how much money is without a record before it, and how much after.

  after-claim    dies where it would have called the acquirer
  after-capture  dies when the money has moved, before anything says so
  after-record   dies with the answer in its hand
  slow-request   lives; its request to the acquirer is longer on its way than the lease
  slow-answer    lives; the acquirer's answer is

The last two happen where --acquirer-latency is longer than --lease: the attempt is held until the lease is over by the server's
clock and everybody else has acted. Half of the clients come again before the reconciler, half after it. Of what the acquirer knows
nothing, the patient reconciler leaves (until --deadline, if the acquirer promises one); the eager one deletes it, to be seen failing.

idemlab reconcile is the same reconciler for the tables of a service.`,
		Example: `  idemlab recover
  idemlab recover --strategy=insert-first --reconciler none
  idemlab recover --strategy=insert-first --reconciler eager --lease 100ms --acquirer-latency 500ms
  idemlab recover --strategy=lease-takeover,lease-takeover-fenced --lease 100ms --acquirer-latency 500ms --acquirer-dedup --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list, com, err := f.demonstrations(a)
			if err != nil {
				return err
			}
			return a.demonstrate(c.Context(), "recover", f.server, f.output, com, list)
		},
	}
	f.add(c)
	return c
}

func (f *recoverFlags) add(c *cobra.Command) {
	f.latency = acquirer.Fixed(50 * time.Millisecond)
	fl := c.Flags()
	f.common.add(c)
	f.common.strategies = []string{scenarios.InsertFirst.Name, scenarios.InsertFirstOpenTx.Name}
	fl.Lookup("strategy").DefValue = strings.Join(f.common.strategies, ",")
	fl.StringSliceVar(&f.befalls, "befalls", befallsNames(), "what befalls the first attempts; a comma list")
	fl.IntVarP(&f.each, "intents", "m", 2, "intents for each of these whose client comes again before the reconciler, and as many whose does after it")
	fl.StringVar(&f.reconciler, "reconciler", string(orphans.Patient), "patient, eager (wrong: deletes claims that the acquirer does not know) or none")
	fl.DurationVar(&f.lease, "lease", 200*time.Millisecond, "how long a claim is its worker's own: for the reconciler, and for strategies that lease")
	fl.DurationVar(&f.deadline, "deadline", 0, "close what the acquirer does not know after this time (0: never), for an acquirer that promises to refuse what comes later")
	fl.Var(&f.latency, "acquirer-latency", "time the acquirer takes, to be compared with the lease; it is not waited for")
	fl.Float64Var(&f.declines, "decline-share", 0, "share of the intents that the acquirer declines, 0 to 1")
	fl.BoolVar(&f.dedup, "acquirer-dedup", false, "the acquirer moves money once for each key; what strategies show of themselves, they show without it")
	fl.BoolVar(&f.keep, "keep", false, "keep the tables afterwards, on a server of yours")
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "recover")
	for name, values := range map[string][]string{"befalls": befallsNames(), "reconciler": reconcilerNames()} {
		// The only error is a flag that does not exist, which the first test run would show.
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

func befallsNames() []string {
	var names []string
	for _, b := range orphans.Befalls() {
		names = append(names, string(b))
	}
	return names
}

func reconcilerNames() []string {
	var names []string
	for _, r := range orphans.Reconcilers() {
		names = append(names, string(r))
	}
	return names
}

// demonstrations checks everything that can be wrong before a server is looked for, and returns one for each strategy.
func (f *recoverFlags) demonstrations(a *app) ([]demonstration, common, error) {
	const mostEach, longestLease = 20, time.Minute
	switch {
	case f.each < 1 || f.each > mostEach:
		return nil, common{}, usagef("--intents %d: say 1 to %d", f.each, mostEach)
	case !slices.Contains(reconcilerNames(), f.reconciler):
		return nil, common{}, usagef("--reconciler=%s: say patient, eager or none", f.reconciler)
	case f.lease < time.Millisecond || f.lease > longestLease:
		return nil, common{}, usagef("--lease %v: say 1ms to %v: its end is waited for", f.lease, longestLease)
	case f.deadline != 0 && f.deadline < f.lease || f.deadline > longestLease:
		return nil, common{}, usagef("--deadline %v: say 0 for none, or the lease's %v to %v: its end is waited for", f.deadline, f.lease, longestLease)
	case f.deadline > 0 && f.reconciler != string(orphans.Patient):
		return nil, common{}, usagef("--deadline is the patient reconciler's: leave out --reconciler=%s or --deadline", f.reconciler)
	case f.declines < 0 || f.declines > 1 || f.declines != f.declines:
		return nil, common{}, usagef("--decline-share %v: say a share from 0 to 1", f.declines)
	}
	if err := f.server.keepable(a, f.keep); err != nil {
		return nil, common{}, err
	}
	o := orphans.Options{
		Each: f.each, Reconciler: orphans.Reconciler(f.reconciler), Lease: f.lease, Deadline: f.deadline, Keep: f.keep,
	}
	for _, name := range f.befalls {
		if !slices.Contains(befallsNames(), name) {
			return nil, common{}, usagef("--befalls=%s: say some of %s", name, strings.Join(befallsNames(), ", "))
		}
		if b := attempt.Befalls(name); !slices.Contains(o.Befalls, b) {
			o.Befalls = append(o.Befalls, b)
		}
	}
	if len(o.Befalls) == 0 {
		return nil, common{}, usagef("--befalls: name at least one of %s", strings.Join(befallsNames(), ", "))
	}
	c, err := f.common.withAcquirer(a, "recover")
	if err != nil {
		return nil, c, err
	}
	o.Isolation, o.Seed, o.Expect, o.DDL = c.isolation, c.seed, c.expect, c.ddl
	o.Acquirer = acquirer.Options{Latency: f.latency, DeclineShare: f.declines, Dedup: f.dedup, Seed: c.seed}
	o.Kept = a.saysKept("cobranca")
	var list []demonstration
	for _, s := range c.strategies {
		o := o
		o.Strategy = s
		list = append(list, demonstration{strategy: s, intents: o.Intents(), connections: o.Connections(),
			run: func(ctx context.Context, srv *server.Server, control *results.Control, done *atomic.Int64) (results.Run, error) {
				o.Control, o.Done = control, done
				return orphans.Run(ctx, srv, o)
			}})
	}
	a.warnDeclines(f.declines, scenarios.Money)
	return list, c, nil
}
