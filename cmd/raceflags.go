package cmd

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/race"
	"idemlab/scenarios"
)

// mostAttempts bounds one race: each attempt's statements are kept until the end, some 500 bytes of them.
const mostAttempts = 1_000_000

// raceFlags are the flags of race as typed.
type raceFlags struct {
	server serverFlags
	output outputFlags

	strategies                 []string
	attempts, intents, rounds  int
	instances, pool            int
	latency                    acquirer.Latency
	declines                   float64
	timeout, lease             time.Duration
	isolation, expect, ddlFile string
	seed                       uint64
	keep, dedup                bool
}

func (f *raceFlags) add(c *cobra.Command) {
	f.latency = acquirer.Fixed(50 * time.Millisecond)
	fl := c.Flags()
	fl.StringSliceVarP(&f.strategies, "strategy", "s", []string{scenarios.CheckThenAct.Name, scenarios.InsertFirst.Name},
		"strategy to race; a comma list, or repeated (idemlab strategies)")
	fl.IntVarP(&f.attempts, "attempts", "n", 50, "concurrent attempts at each intent")
	fl.IntVarP(&f.intents, "intents", "m", 20, "payment intents, one after another")
	fl.IntVar(&f.rounds, "rounds", 1, "passes over as many new intents")
	fl.IntVar(&f.instances, "instances", 1, "instances of the service, each an operating-system process with its own pool")
	fl.IntVar(&f.pool, "pool", 0, "connections of each instance (default: one for each attempt that falls to it)")
	fl.Var(&f.latency, "acquirer-latency", "time the acquirer takes: 50ms, uniform:20ms,80ms or exp:50ms")
	fl.Float64Var(&f.declines, "decline-share", 0, "share of the intents that the acquirer declines, 0 to 1")
	fl.BoolVar(&f.dedup, "acquirer-dedup", false, "the acquirer moves money once for each key; what strategies show of themselves, they show without it")
	fl.DurationVar(&f.timeout, "attempt-timeout", time.Minute, "give an attempt up after this time; it then counts as failed")
	fl.DurationVar(&f.lease, "lease", 0, "length of a claim's lease, in strategies that lease (default: each one's own)")
	fl.StringVar(&f.isolation, "isolation", string(pgx.ReadCommitted), "default isolation level of the attempts: "+strings.Join(isolationNames(), ", "))
	fl.StringVar(&f.expect, "expect", string(check.ExpectClaim), "what exit code 0 means: claim (what each strategy says of itself), held or violated")
	fl.StringVar(&f.ddlFile, "schema", "", "SQL file in place of the embedded schema.sql")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of keys, latencies and declines")
	fl.BoolVar(&f.keep, "keep", false, "keep the tables afterwards, on a server of yours")
	f.server.add(c)
	f.output.add(c)
	for name, values := range map[string][]string{
		"strategy": strategyNames(), "isolation": isolationNames(),
		"expect": {string(check.ExpectClaim), string(check.ExpectHeld), string(check.ExpectViolated)},
	} {
		// The only error is a flag that does not exist, which the first test run would show.
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
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
	case f.timeout <= 0:
		return nil, usagef("--attempt-timeout %v: say more than 0", f.timeout)
	case f.lease < 0:
		return nil, usagef("--lease %v: say 0 or more", f.lease)
	}
	isolation, err := isolationOf(f.isolation)
	if err != nil {
		return nil, err
	}
	expect := check.Expectation(f.expect)
	if !slices.Contains([]check.Expectation{check.ExpectClaim, check.ExpectHeld, check.ExpectViolated}, expect) {
		return nil, usagef("--expect=%s: say claim, held or violated", f.expect)
	}
	ddl, err := f.ddl(a)
	if err != nil {
		return nil, err
	}
	chosen, err := strategiesOf(f.strategies)
	if err != nil {
		return nil, err
	}
	pool := f.pool
	if pool == 0 {
		pool = (f.attempts + f.instances - 1) / f.instances
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, to start instances of it: %w", err)
	}
	var all []race.Options
	for _, s := range chosen {
		all = append(all, race.Options{
			Scenario: scenarios.ChargeOnce, Strategy: s,
			Attempts: f.attempts, Intents: f.intents, Rounds: f.rounds, Instances: f.instances, Pool: pool,
			Isolation:      isolation,
			Acquirer:       acquirer.Options{Latency: f.latency, DeclineShare: f.declines, Dedup: f.dedup, Seed: f.seed},
			AttemptTimeout: f.timeout, Lease: f.lease, Seed: f.seed, Expect: expect, DDL: ddl, Keep: f.keep,
			Child: []string{self, instanceCommand},
		})
	}
	return all, nil
}

func (f *raceFlags) ddl(a *app) (string, error) {
	if f.ddlFile == "" {
		return a.schema, nil
	}
	text, err := os.ReadFile(f.ddlFile)
	if err != nil {
		return "", usagef("--schema: %w", err)
	}
	return string(text), nil
}

func strategyNames() []string {
	var names []string
	for _, s := range scenarios.All() {
		names = append(names, s.Name)
	}
	return names
}

// strategiesOf looks names up, each once, in the order in which they were typed.
func strategiesOf(names []string) ([]scenarios.Strategy, error) {
	var chosen []scenarios.Strategy
	seen := map[string]bool{}
	for _, name := range names {
		s, err := strategyOf(name)
		if err != nil {
			return nil, err
		}
		if !seen[name] {
			chosen = append(chosen, s)
		}
		seen[name] = true
	}
	if len(chosen) == 0 {
		return nil, usagef("--strategy: name at least one of %s", strings.Join(strategyNames(), ", "))
	}
	return chosen, nil
}

func strategyOf(name string) (scenarios.Strategy, error) {
	s, ok := scenarios.Named(name)
	if !ok {
		return s, usagef("no strategy %q; there are: %s", name, strings.Join(strategyNames(), ", "))
	}
	return s, nil
}

func isolationNames() []string {
	return []string{string(pgx.ReadCommitted), string(pgx.RepeatableRead), string(pgx.Serializable)}
}

// isolationOf takes "read committed", and "read-committed" too, which needs no quotes.
func isolationOf(s string) (pgx.TxIsoLevel, error) {
	name := strings.ToLower(strings.NewReplacer("-", " ", "_", " ").Replace(s))
	if !slices.Contains(isolationNames(), name) {
		return "", usagef("--isolation %q: say one of %s", s, strings.Join(isolationNames(), ", "))
	}
	return pgx.TxIsoLevel(name), nil
}
