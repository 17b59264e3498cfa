package cmd

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/internal/stored"
	"idemlab/results"
	"idemlab/scenarios"
)

// storedFlags are the flags of stored as typed.
type storedFlags struct {
	server serverFlags
	output outputFlags
	common commonFlags

	policies []string
}

func (a *app) stored() *cobra.Command {
	var f storedFlags
	var words []string
	for _, p := range scenarios.StorePolicies() {
		words = append(words, "  "+p.Name+strings.Repeat(" ", 8-len(p.Name))+p.Stores+" ("+p.Strategy.Name+")")
	}
	c := &cobra.Command{
		Use:   "stored",
		Short: "Show what comes of storing which answers: what a retry is told, and what a fresh key then does",
		Long: `For each policy of storing answers and each way in which a first attempt can end: what is a retry with the same key told, how often is the
customer charged, what does a reconciler make of it, and what does a fresh key do.

` + strings.Join(words, "\n") + `

Where the acquirer answers with an error before the capture, with one after it, or not at all, the service is told the same: nothing.

And in a column of what type an answer comes back to the byte.`,
		Example: `  idemlab stored
  idemlab stored --store-errors all,final
  idemlab stored --store-errors success --expect violated --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list, com, err := f.demonstrations(a)
			if err != nil {
				return err
			}
			return a.demonstrate(c.Context(), "stored", f.server, f.output, com, list)
		},
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.policies, "store-errors", policyNames(), "policies of storing answers; a comma list")
	fl.StringVar(&f.common.isolation, "isolation", string(pgx.ReadCommitted), "default isolation level of the attempts: "+strings.Join(isolationNames(), ", "))
	fl.StringVar(&f.common.expect, "expect", string(check.ExpectClaim), "what exit code 0 means: claim (what each strategy says of itself), held or violated")
	fl.StringVar(&f.common.ddlFile, "schema", "", "SQL file in place of the embedded schema.sql")
	fl.Uint64Var(&f.common.seed, "seed", 1, "seed of everything that is left to chance")
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "stored")
	for name, values := range map[string][]string{"store-errors": policyNames(), "isolation": isolationNames(), "expect": expectations()} {
		// The only error is a flag that does not exist, which the first test run would show.
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

func policyNames() []string {
	var names []string
	for _, p := range scenarios.StorePolicies() {
		names = append(names, p.Name)
	}
	return names
}

// demonstrations checks everything that can be wrong before a server is looked for, and returns one for each policy, in their own order.
func (f *storedFlags) demonstrations(a *app) ([]demonstration, common, error) {
	for _, name := range f.policies {
		if !slices.Contains(policyNames(), name) {
			return nil, common{}, usagef("--store-errors=%s: say some of %s", name, strings.Join(policyNames(), ", "))
		}
	}
	if len(f.policies) == 0 {
		return nil, common{}, usagef("--store-errors: name at least one of %s", strings.Join(policyNames(), ", "))
	}
	f.common.strategies = []string{scenarios.InsertFirst.Name} // the policies have strategies of their own
	c, err := f.common.common(a)
	if err != nil {
		return nil, c, err
	}
	o := stored.Options{Isolation: c.isolation, Seed: c.seed, Expect: c.expect, DDL: c.ddl}
	var list []demonstration
	for _, p := range scenarios.StorePolicies() {
		if !slices.Contains(f.policies, p.Name) {
			continue
		}
		o := o
		o.Policy, o.Columns = p, len(list) == 0
		list = append(list, demonstration{strategy: p.Strategy, intents: stored.Intents, connections: stored.Connections,
			run: func(ctx context.Context, srv *server.Server, control *results.Control, done *atomic.Int64) (results.Run, error) {
				o.Control, o.Done = control, done
				return stored.Run(ctx, srv, o)
			}})
	}
	return list, c, nil
}
