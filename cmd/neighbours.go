package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/check"
	"idemlab/internal/neighbours"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// neighboursFlags are the flags of neighbours as typed.
type neighboursFlags struct {
	server serverFlags
	output outputFlags

	constraints []string
	expect      string
}

func (a *app) neighbours() *cobra.Command {
	var f neighboursFlags
	c := &cobra.Command{
		Use:   "neighbours",
		Short: "Show what a unique constraint makes of a key's neighbours: tenants, endpoints, other keys for the same charge",
		Long: `Ask PostgreSQL, for each of several unique constraints, what it makes of two requests that are near each other: a retry, which must be
recognised; the same key from another tenant or at another endpoint, which must not be told the first one's answer; a retry without a
tenant (NULL is distinct from NULL, unless told otherwise); and the same charge under another key.`,
		Example: `  idemlab neighbours
  idemlab neighbours --constraint tenant-key,tenant-route-key-nulls --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			chosen, err := f.check()
			if err != nil {
				return err
			}
			return a.runNeighbours(c.Context(), f, chosen)
		},
	}
	fl := c.Flags()
	fl.StringSliceVar(&f.constraints, "constraint", constraintNames(), "constraints; a comma list")
	fl.StringVar(&f.expect, "expect", string(check.ExpectClaim), "what exit code 0 means: claim (what is known of each), held or violated")
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "neighbours")
	for name, values := range map[string][]string{"constraint": constraintNames(), "expect": expectations()} {
		// The only error is a flag that does not exist, which the first test run would show.
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return c
}

func constraintNames() []string {
	var names []string
	for _, c := range neighbours.Constraints() {
		names = append(names, c.Name)
	}
	return names
}

// check refuses what cannot be meant, and returns the constraints that were named, in their own order.
func (f *neighboursFlags) check() (chosen []neighbours.Constraint, err error) {
	for _, name := range f.constraints {
		if !slices.Contains(constraintNames(), name) {
			return nil, usagef("--constraint=%s: say some of %s", name, strings.Join(constraintNames(), ", "))
		}
	}
	for _, c := range neighbours.Constraints() {
		if slices.Contains(f.constraints, c.Name) {
			chosen = append(chosen, c)
		}
	}
	switch {
	case len(chosen) == 0:
		return nil, usagef("--constraint: name at least one of %s", strings.Join(constraintNames(), ", "))
	case !slices.Contains(expectations(), f.expect):
		return nil, usagef("--expect=%s: say claim, held or violated", f.expect)
	}
	return chosen, nil
}

func (a *app) runNeighbours(ctx context.Context, f neighboursFlags, chosen []neighbours.Constraint) error {
	if err := f.output.prepare(scenarios.ChargeOnce); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	runs, skipped, err := a.neighboursAll(ctx, f, chosen)
	if len(runs) == 0 && err != nil {
		return err
	}
	d := document(ctx, runs, err)
	d.Skipped = skipped
	return a.put(f.output, "neighbours", started, d)
}

func (a *app) neighboursAll(ctx context.Context, f neighboursFlags, chosen []neighbours.Constraint) (runs []results.Run, skipped []results.Skipped, err error) {
	srv, err := server.Open(ctx, f.server.options(a, neighbours.Connections))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	var errs []error
	for _, c := range chosen {
		if major := srv.Info().VersionNum / 10000; major < c.MinServer {
			why := fmt.Sprintf("needs PostgreSQL %d or later, and this is %d", c.MinServer, major)
			a.say("skipped: %s %s", c.Name, why)
			skipped = append(skipped, results.Skipped{Strategy: c.Name, Reason: why})
			continue
		}
		run, err := neighbours.Run(ctx, srv, neighbours.Options{Constraint: c, Expect: check.Expectation(f.expect)})
		run.Tool.Version = version
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.Name, err))
		}
		runs = append(runs, run)
		if ctx.Err() != nil {
			break
		}
	}
	if len(runs) == 0 && len(errs) == 0 {
		errs = append(errs, errors.New("nothing to run: this server lacks what each of the constraints needs"))
	}
	return runs, skipped, errors.Join(errs...)
}
