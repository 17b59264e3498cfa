package cmd

import (
	"math"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/load"
	"idemlab/scenarios"
)

// loadFlags are the flags of load as typed.
type loadFlags struct {
	server serverFlags
	output outputFlags
	common commonFlags

	clients               int
	rate                  float64
	arrivals              string
	mostInFlight          int
	duration, warmup      time.Duration
	repeatShare, hotShare float64
	hotKeys               int
	stall                 time.Duration
	instances, pool       int
	latency               acquirer.Latency
	declines              float64
	timeout, lease        time.Duration
	dedup                 bool

	typed func(flag string) bool // whether a flag was on the command line
}

// Bounds of what makes sense, and fits a machine.
const (
	mostClients  = 10_000
	mostRate     = 1_000_000
	leastRate    = 0.001
	longestLoad  = 24 * time.Hour
	openLoopPool = 20 // connections of an open loop's instance, where --pool does not say
)

func (f *loadFlags) add(c *cobra.Command) {
	f.latency = acquirer.Fixed(50 * time.Millisecond)
	fl := c.Flags()
	f.common.add(c)
	f.common.strategies = []string{scenarios.InsertFirst.Name}
	fl.Lookup("strategy").DefValue = scenarios.InsertFirst.Name
	fl.IntVar(&f.clients, "clients", 16, "clients of a closed loop, over all instances: each asks again as soon as it is answered")
	fl.Float64Var(&f.rate, "rate", 0, "arrivals a second of an open loop, over all instances; in place of --clients")
	fl.StringVar(&f.arrivals, "arrivals", "poisson", "how an open loop's arrivals come: poisson or constant")
	fl.IntVar(&f.mostInFlight, "max-in-flight", 10_000, "attempts of an open loop that may be under way in one instance; arrivals beyond it are dropped, and counted")
	fl.DurationVar(&f.duration, "duration", 10*time.Second, "how long to measure")
	fl.DurationVar(&f.warmup, "warmup", 2*time.Second, "how long to load before that, unmeasured")
	fl.Float64Var(&f.repeatShare, "repeat-share", 0.1, "share of the attempts that repeat an earlier key, half of them one that may still be at work; 0 to 0.99")
	fl.Float64Var(&f.hotShare, "hot-share", 0, "share of the attempts that aim at a few hot keys, which change as it goes; 0 to 1")
	fl.IntVar(&f.hotKeys, "hot-keys", 4, "how many keys are hot at a time")
	fl.DurationVar(&f.stall, "stall", 0, "lock the table against writers for this long, once, a third into the run")
	fl.IntVar(&f.instances, "instances", 1, "instances of the service, each an operating-system process with its own pool")
	fl.IntVar(&f.pool, "pool", 0, "connections of each instance (default: one for each client, or 20 in an open loop)")
	fl.Var(&f.latency, "acquirer-latency", "time the acquirer takes: 50ms, uniform:20ms,80ms or exp:50ms")
	fl.Float64Var(&f.declines, "decline-share", 0, "share of the intents that the acquirer declines, 0 to 1")
	fl.BoolVar(&f.dedup, "acquirer-dedup", false, "the acquirer moves money once for each key; what strategies show of themselves, they show without it")
	fl.DurationVar(&f.timeout, "attempt-timeout", 0, "give an attempt up after this time; it then counts as failed (default: 1m, or ten times the acquirer's)")
	fl.DurationVar(&f.lease, "lease", 0, "length of a claim's lease, in strategies that lease (default: each one's own)")
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "load")
	_ = c.RegisterFlagCompletionFunc("arrivals", cobra.FixedCompletions([]string{"poisson", "constant"}, cobra.ShellCompDirectiveNoFileComp))
	f.typed = c.Flags().Changed
}

// options checks everything that can be wrong before a server is looked for, and returns one load for each strategy.
func (f *loadFlags) options(a *app) ([]load.Options, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	c, err := f.common.common(a)
	if err != nil {
		return nil, err
	}
	if err := c.oneScenario(); err != nil {
		return nil, err
	}
	if s := c.strategies[0]; !s.Scenario().Acquirer {
		return nil, usagef("--strategy: load counts what the acquirer is told, and %s belongs to the scenario %s, which has none: say idemlab race --strategy=%s",
			s.Name, s.Scenario().Name, s.Name)
	}
	if err := alike("load", c.strategies); err != nil {
		return nil, err
	}
	child, err := instanceArgs(loadInstance)
	if err != nil {
		return nil, err
	}
	o := load.Options{
		Clients: f.clients, Duration: f.duration, Warmup: f.warmup, RepeatShare: f.repeatShare, HotShare: f.hotShare, HotKeys: f.hotKeys,
		Stall: f.stall, Instances: f.instances, Pool: f.pool, Isolation: c.isolation,
		Acquirer:       acquirer.Options{Latency: f.latency, DeclineShare: f.declines, Dedup: f.dedup, Seed: c.seed},
		AttemptTimeout: f.timeout, Lease: f.lease, Seed: c.seed, Expect: c.expect, DDL: c.ddl, Child: child,
	}
	if f.rate > 0 {
		o.Clients, o.Rate, o.Constant, o.MaxInFlight = 0, f.rate, f.arrivals == "constant", f.mostInFlight
	}
	switch {
	case o.Pool > 0:
	case f.rate > 0:
		o.Pool = openLoopPool
	default:
		o.Pool = (f.clients + f.instances - 1) / f.instances
	}
	if o.AttemptTimeout == 0 {
		o.AttemptTimeout = max(time.Minute, 10*f.latency.Mean())
	}
	var all []load.Options
	for _, s := range c.strategies {
		o.Scenario, o.Strategy = s.Scenario(), s
		all = append(all, o)
	}
	a.warnDeclines(f.declines, scenarios.Money)
	return all, nil
}

func (f *loadFlags) check() error {
	for _, n := range []struct {
		flag            string
		value, min, max int
	}{
		{"clients", f.clients, 1, mostClients}, {"instances", f.instances, 1, 100}, {"pool", f.pool, 0, mostClients},
		{"max-in-flight", f.mostInFlight, 1, 1_000_000}, {"hot-keys", f.hotKeys, 1, 1000},
	} {
		if n.value < n.min || n.value > n.max {
			return usagef("--%s %d: say %d to %d", n.flag, n.value, n.min, n.max)
		}
	}
	inside := func(v, from, to float64) bool { return v >= from && v <= to } // false for NaN, too
	switch {
	case !inside(f.rate, 0, mostRate) || f.rate > 0 && f.rate < leastRate:
		return usagef("--rate %v: say arrivals a second, %v to %d", f.rate, leastRate, mostRate)
	case f.typed("rate") && f.rate == 0:
		return usagef("--rate 0: say arrivals a second, or leave it out for a closed loop of --clients")
	case f.rate > 0 && f.typed("clients"):
		return usagef("--clients is of a closed loop and --rate of an open one: say one of them")
	case f.rate == 0 && (f.typed("arrivals") || f.typed("max-in-flight")):
		return usagef("--arrivals and --max-in-flight are of an open loop: say --rate, too")
	case f.arrivals != "poisson" && f.arrivals != "constant":
		return usagef("--arrivals=%s: say poisson or constant", f.arrivals)
	case f.duration < time.Second || f.duration > longestLoad:
		return usagef("--duration %v: say 1s or more, and at most %v", f.duration, longestLoad)
	case f.warmup < 0 || f.warmup > longestLoad:
		return usagef("--warmup %v: say 0 or more", f.warmup)
	case !inside(f.repeatShare, 0, 0.99):
		return usagef("--repeat-share %v: say a share from 0 to 0.99: something must be there to be repeated", f.repeatShare)
	case !inside(f.hotShare, 0, 1), f.repeatShare+f.hotShare > 1+math.SmallestNonzeroFloat64:
		return usagef("--hot-share %v: say a share from 0 to 1, and with --repeat-share %v no more than 1 together", f.hotShare, f.repeatShare)
	case f.stall < 0 || f.stall > f.duration/2:
		return usagef("--stall %v: say 0 or more, and at most half of --duration %v", f.stall, f.duration)
	case !inside(f.declines, 0, 1):
		return usagef("--decline-share %v: say a share from 0 to 1", f.declines)
	case f.timeout < 0 || f.typed("attempt-timeout") && f.timeout == 0:
		return usagef("--attempt-timeout %v: say more than 0", f.timeout)
	case f.timeout > 0 && f.timeout <= f.latency.Mean():
		return usagef("--attempt-timeout %v: the acquirer takes %v, so most attempts would be given up; say more", f.timeout, f.latency.String())
	case f.lease < 0:
		return usagef("--lease %v: say 0 or more", f.lease)
	case f.rate == 0 && f.instances > f.clients:
		return usagef("--instances %d: with %d clients, some would have nothing to do", f.instances, f.clients)
	}
	return nil
}
