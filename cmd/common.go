package cmd

import (
	"os"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"idemlab/internal/check"
	"idemlab/scenarios"
)

// expectations are the values of --expect.
func expectations() []string {
	return []string{string(check.ExpectClaim), string(check.ExpectHeld), string(check.ExpectViolated)}
}

// common is what race and explore share.
type common struct {
	strategies []scenarios.Strategy
	isolation  pgx.TxIsoLevel
	expect     check.Expectation
	ddl        string
	seed       uint64
}

// commonFlags are the flags that race and explore share, as typed.
type commonFlags struct {
	strategies                 []string
	isolation, expect, ddlFile string
	seed                       uint64
}

func (f *commonFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringSliceVarP(&f.strategies, "strategy", "s", []string{scenarios.CheckThenAct.Name, scenarios.InsertFirst.Name},
		"strategy; a comma list, or repeated (idemlab strategies)")
	fl.StringVar(&f.isolation, "isolation", string(pgx.ReadCommitted), "default isolation level of the attempts: "+strings.Join(isolationNames(), ", "))
	fl.StringVar(&f.expect, "expect", string(check.ExpectClaim), "what exit code 0 means: claim (what each strategy says of itself), held or violated")
	fl.StringVar(&f.ddlFile, "schema", "", "SQL file in place of the embedded schema.sql")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of everything that is left to chance")
	for name, values := range map[string][]string{"strategy": strategyNames(), "isolation": isolationNames(), "expect": expectations()} {
		// The only error is a flag that does not exist, which the first test run would show.
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

func (f *commonFlags) common(a *app) (common, error) {
	c := common{expect: check.Expectation(f.expect), seed: f.seed}
	var err error
	if c.isolation, err = isolationOf(f.isolation); err != nil {
		return c, err
	}
	if !slices.Contains(expectations(), f.expect) {
		return c, usagef("--expect=%s: say claim, held or violated", f.expect)
	}
	if c.ddl, err = ddlOf(a.schema, f.ddlFile); err != nil {
		return c, err
	}
	c.strategies, err = strategiesOf(f.strategies)
	return c, err
}

// ddlOf is the text that makes the tables: the file's, where one is named.
func ddlOf(embedded, file string) (string, error) {
	if file == "" {
		return embedded, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", usagef("--schema: %w", err)
	}
	return strings.TrimPrefix(string(text), "\ufeff"), nil // a byte order mark, as some editors write it
}

// alike refuses, for commands that repeat one client's request, scenarios that are about clients whose requests differ: such a run would
// find nothing, and say held.
func alike(command string, list []scenarios.Strategy) error {
	for _, s := range list {
		if !s.Scenario().Alike() {
			return usagef("--strategy: %s repeats one client's request, and the scenario %s, which %s belongs to, is about two that differ: "+
				"say idemlab race --strategy=%[3]s, or explore", command, s.Scenario().Name, s.Name)
		}
	}
	return nil
}

// oneScenario refuses strategies of several scenarios: their figures have nothing in common to stand side by side.
func (c common) oneScenario() error {
	first := c.strategies[0]
	for _, s := range c.strategies[1:] {
		if s.Scenario().Name != first.Scenario().Name {
			return usagef("--strategy: %s belongs to the scenario %s and %s to %s: run them one after another, or idemlab verify",
				first.Name, first.Scenario().Name, s.Name, s.Scenario().Name)
		}
	}
	return nil
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenarios.Scenarios() {
		names = append(names, s.Name)
	}
	return names
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
