package cmd

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/fault"
	"idemlab/internal/retry"
	"idemlab/scenarios"
)

// retryFlags are the flags of retry as typed.
type retryFlags struct {
	server serverFlags
	output outputFlags
	common commonFlags
	world  worldFlags
	effect effectFlag

	timeout, retryAfterCap, lease time.Duration
	retries, clicks               int
	intents, concurrency          int
	instances, pool               int
	backoff                       retry.Backoff
	keyPolicy                     string
	faults                        []string
	reconcile, keep               bool
}

// Bounds of what fits a machine.
const (
	mostIntents     = 100_000
	mostConcurrency = 1_000
	mostClicks      = 100
	mostRetries     = 1_000
	mostServices    = 64
	mostPool        = 1_000
	longestWait     = time.Hour
)

func (f *retryFlags) add(c *cobra.Command) {
	f.backoff = retry.Exponential(10*time.Millisecond, time.Second)
	fl := c.Flags()
	f.common.add(c)
	f.common.strategies = []string{scenarios.InsertFirst.Name}
	fl.Lookup("strategy").DefValue = scenarios.InsertFirst.Name
	fl.IntVarP(&f.intents, "intents", "m", 20, "payment intents, each a customer's")
	fl.IntVar(&f.concurrency, "concurrency", 4, "customers at a time")
	fl.IntVar(&f.clicks, "clicks", 1, "taps of each customer, evenly over the time-out")
	fl.DurationVar(&f.timeout, "timeout", 200*time.Millisecond, "how long the client waits for one answer")
	fl.IntVar(&f.retries, "retries", 5, "how often each tap is sent again")
	fl.Var(&f.backoff, "backoff", "wait before a retry: none, constant:50ms, or exp:10ms,1s (base, cap; with full jitter)")
	fl.DurationVar(&f.retryAfterCap, "retry-after-cap", 100*time.Millisecond, "honour the service's Retry-After (whole seconds) up to this, so that runs stay short; 0 ignores it")
	fl.StringVar(&f.keyPolicy, "key-policy", string(retry.SameKey), "key of an attempt: "+strings.Join(keyPolicies(), ", "))
	fl.StringArrayVar(&f.faults, "fault", nil, "what goes wrong, STEP:KIND[@WHICH]; may be repeated (see above)")
	fl.BoolVar(&f.reconcile, "reconcile", false, "ask the acquirer about what was left half-way, and finish it")
	fl.IntVar(&f.instances, "instances", 1, "processes of the service; requests are dealt over them")
	fl.IntVar(&f.pool, "pool", 10, "connections of each of them")
	fl.DurationVar(&f.lease, "lease", 0, "length of a claim's lease, in strategies that lease, and the age of an orphan (default: each one's own)")
	fl.BoolVar(&f.keep, "keep", false, "keep the tables afterwards, on a server of yours")
	f.world.add(c)
	f.effect.add(c)
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "retry")
	for name, values := range map[string][]string{"strategy": chargeNames(), "key-policy": keyPolicies()} {
		// The only error is a flag that does not exist, or one that has its values already.
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

func keyPolicies() []string {
	var names []string
	for _, p := range retry.KeyPolicies() {
		names = append(names, string(p))
	}
	return names
}

// options checks everything that can be wrong before a server is looked for, and returns one run for each strategy.
func (f *retryFlags) options(a *app) ([]retry.Options, error) {
	for _, n := range []struct {
		flag             string
		value, min, most int
	}{
		{"intents", f.intents, 1, mostIntents}, {"concurrency", f.concurrency, 1, mostConcurrency}, {"clicks", f.clicks, 1, mostClicks},
		{"retries", f.retries, 0, mostRetries}, {"instances", f.instances, 1, mostServices}, {"pool", f.pool, 1, mostPool},
	} {
		if n.value < n.min || n.value > n.most {
			return nil, usagef("--%s %d: say %d to %d", n.flag, n.value, n.min, n.most)
		}
	}
	switch {
	case f.timeout < time.Millisecond || f.timeout > longestWait:
		return nil, usagef("--timeout %v: say 1ms to %v", f.timeout, longestWait)
	case f.retryAfterCap < 0 || f.retryAfterCap > longestWait:
		return nil, usagef("--retry-after-cap %v: say 0 to %v", f.retryAfterCap, longestWait)
	case f.lease < 0 || f.lease > longestWait:
		return nil, usagef("--lease %v: say 0 to %v", f.lease, longestWait)
	case !slices.Contains(keyPolicies(), f.keyPolicy):
		return nil, usagef("--key-policy=%s: say %s", f.keyPolicy, strings.Join(keyPolicies(), ", "))
	}
	if f.once() && !f.reconcile && len(f.faults) == 0 {
		return nil, usagef("--retries 0 with one tap sends one request for each intent, and nothing goes wrong: there is nothing to be seen; " +
			"say --clicks 2, or 1 or more --retries, or a --fault")
	}
	if err := f.world.check(); err != nil {
		return nil, err
	}
	c, err := f.common.common(a)
	if err != nil {
		return nil, err
	}
	named := f.server.options(a, 0).NamesServer()
	if f.keep && !named {
		return nil, usagef("--keep is for a server of yours: the one that is started here goes with the run; name one with --dsn")
	}
	child, err := instanceArgs(retryService)
	if err != nil {
		return nil, err
	}
	var all []retry.Options
	for _, s := range c.strategies {
		if s.Scenario().Name != scenarios.ChargeOnce.Name {
			return nil, usagef("--strategy=%s: it belongs to the scenario %s, and customers here make charges; take one of the scenario %s (idemlab strategies)",
				s.Name, s.Scenario().Name, scenarios.ChargeOnce.Name)
		}
		asked, expanded, err := faultsOf(f.faults, s, named)
		if err != nil {
			return nil, err
		}
		all = append(all, retry.Options{
			Strategy: s,
			Intents:  f.intents, Concurrency: f.concurrency, Clicks: f.clicks,
			Timeout: f.timeout, Retries: f.retries, Backoff: f.backoff, RetryAfterCap: f.retryAfterCap, KeyPolicy: retry.KeyPolicy(f.keyPolicy),
			Faults: expanded, Asked: asked, Reconcile: f.reconcile,
			Instances: f.instances, Pool: f.pool, Isolation: c.isolation, Acquirer: f.world.options(c.seed), Effect: f.effect.Effect, Lease: f.lease,
			Seed: c.seed, Expect: c.expect, DDL: c.ddl, Keep: f.keep, Child: child,
		})
	}
	a.warnDeclines(f.world.declines, f.effect.Effect)
	if f.once() {
		a.say("warning: --retries 0 with one tap: %s", f.undecided())
	}
	return all, nil
}

// once says that each customer sends one request, and no other while the run goes on.
func (f *retryFlags) once() bool { return f.retries == 0 && f.clicks == 1 }

// undecided says what a run of one request for each intent cannot show. What a fault leaves of one request is worth seeing all the same.
func (f *retryFlags) undecided() string {
	if f.reconcile {
		return "only customers without a final answer come back, at the end; if all have one, nothing shows what a second request would have done"
	}
	return "what the faults leave is shown, and nothing shows what a second request would have done: a claim that it does no harm stays undecided"
}

// faultsOf reads the faults for a strategy, whose steps they may name.
func faultsOf(typed []string, s scenarios.Strategy, foreign bool) (asked, expanded []fault.Fault, err error) {
	own, err := stepsOf(s)
	if err != nil {
		return nil, nil, err
	}
	statements := append(own, "begin", "commit")
	for _, text := range typed {
		f, err := fault.Parse(text, statements)
		if err != nil {
			return nil, nil, usagef("--fault %w", err)
		}
		if f.Kind == fault.Restart && foreign {
			return nil, nil, usagef("--fault %s: a server of yours is not made to crash: leave --dsn and its like out, so that one is started here", f)
		}
		asked = append(asked, f)
	}
	return asked, fault.Expand(asked, append(own, "commit")), nil
}

// stepsOf are the statements that stand in a strategy's file, each once.
func stepsOf(s scenarios.Strategy) ([]string, error) {
	texts, err := scenarios.Steps(s.Name)
	if err != nil {
		return nil, err
	}
	var steps []string
	for _, sql := range texts {
		if step := scenarios.StepOf(sql); !slices.Contains(steps, step) {
			steps = append(steps, step)
		}
	}
	return steps, nil
}
