package cmd

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/race"
)

// mostAttempts bounds one race: each attempt's statements are kept until the end, some 500 bytes of them.
const mostAttempts = 1_000_000

// raceFlags are the flags of race as typed.
type raceFlags struct {
	server serverFlags
	output outputFlags
	common commonFlags

	attempts, intents, rounds int
	instances, pool           int
	latency                   acquirer.Latency
	declines                  float64
	timeout, lease            time.Duration
	keep, dedup               bool
	effect                    effectFlag
}

func (f *raceFlags) add(c *cobra.Command) {
	f.latency = acquirer.Fixed(50 * time.Millisecond)
	fl := c.Flags()
	f.common.add(c)
	fl.IntVarP(&f.attempts, "attempts", "n", 50, "concurrent attempts at each intent")
	fl.IntVarP(&f.intents, "intents", "m", 20, "payment intents, one after another")
	fl.IntVar(&f.rounds, "rounds", 1, "passes over as many new intents")
	fl.IntVar(&f.instances, "instances", 1, "instances of the service, each an operating-system process with its own pool")
	fl.IntVar(&f.pool, "pool", 0, "connections of each instance (default: one for each attempt that falls to it)")
	fl.Var(&f.latency, "acquirer-latency", "time the acquirer takes: 50ms, uniform:20ms,80ms or exp:50ms")
	fl.Float64Var(&f.declines, "decline-share", 0, "share of the intents that the acquirer declines, 0 to 1")
	fl.BoolVar(&f.dedup, "acquirer-dedup", false, "the acquirer moves money once for each key; what strategies show of themselves, they show without it")
	fl.DurationVar(&f.timeout, "attempt-timeout", 0, "give an attempt up after this time; it then counts as failed (default: 1m, or ten times the acquirer's)")
	fl.DurationVar(&f.lease, "lease", 0, "length of a claim's lease, in strategies that lease (default: each one's own)")
	fl.BoolVar(&f.keep, "keep", false, "keep the tables afterwards, on a server of yours")
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "race")
}

// options checks everything that can be wrong before a server is looked for, and returns one race for each strategy.
func (f *raceFlags) options(a *app) ([]race.Options, error) {
	for _, n := range []struct {
		flag       string
		value, min int
	}{{"attempts", f.attempts, 1}, {"intents", f.intents, 1}, {"rounds", f.rounds, 1}, {"instances", f.instances, 1}, {"pool", f.pool, 0}} {
		if n.value < n.min {
			return nil, usagef("--%s %d: say %d or more", n.flag, n.value, n.min)
		}
	}
	switch total := float64(f.attempts) * float64(f.intents) * float64(f.rounds); {
	case total > mostAttempts:
		return nil, usagef("%.0f attempts in one run, and %d is the most: lower --attempts, --intents or --rounds", total, mostAttempts)
	case f.instances > f.attempts:
		return nil, usagef("--instances %d: with %d attempts an intent, some would have nothing to do", f.instances, f.attempts)
	case f.declines < 0 || f.declines > 1 || f.declines != f.declines:
		return nil, usagef("--decline-share %v: say a share from 0 to 1", f.declines)
	case f.timeout < 0:
		return nil, usagef("--attempt-timeout %v: say more than 0", f.timeout)
	case f.timeout > 0 && f.timeout <= f.latency.Mean():
		return nil, usagef("--attempt-timeout %v: the %s takes %v, so most attempts would be given up; say more", f.timeout, f.effect.Words().Far, f.latency.String())
	case f.lease < 0:
		return nil, usagef("--lease %v: say 0 or more", f.lease)
	}
	c, err := f.common.common(a)
	if err != nil {
		return nil, err
	}
	if err := c.oneScenario(); err != nil {
		return nil, err
	}
	if err := f.effect.fits(c.strategies[0].Scenario()); err != nil {
		return nil, err
	}
	pool := f.pool
	if pool == 0 {
		pool = (f.attempts + f.instances - 1) / f.instances
	}
	if err := f.server.keepable(a, f.keep); err != nil {
		return nil, err
	}
	timeout := f.timeout
	if timeout == 0 {
		timeout = max(time.Minute, 10*f.latency.Mean())
	}
	child, err := instanceArgs(raceInstance)
	if err != nil {
		return nil, err
	}
	var all []race.Options
	for _, s := range c.strategies {
		all = append(all, race.Options{
			Scenario: s.Scenario(), Strategy: s,
			Attempts: f.attempts, Intents: f.intents, Rounds: f.rounds, Instances: f.instances, Pool: pool,
			Isolation:      c.isolation,
			Acquirer:       acquirer.Options{Latency: f.latency, DeclineShare: f.declines, Dedup: f.dedup, Seed: c.seed},
			Effect:         f.effect.Effect,
			AttemptTimeout: timeout, Lease: f.lease, Seed: c.seed, Expect: c.expect, DDL: c.ddl, Keep: f.keep,
			Child: child,
		})
	}
	if c.strategies[0].Scenario().Acquirer {
		a.warnDeclines(f.declines, f.effect.Effect)
	}
	return all, nil
}

// instanceArgs is the command line that makes this program one more instance of the service.
func instanceArgs(as string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start instances of it: %w", err)
	}
	return []string{self, as}, nil
}
