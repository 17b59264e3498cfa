package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// version is the tool's own; it stands in every run document.
const version = "0.1.0"

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "idemlab",
		Short: "What does a service do with the second request for one payment? Ask a real PostgreSQL.",
		Long: `When a payment times out, the app sends it again. idemlab fires concurrent attempts at one payment intent, on a real
PostgreSQL, under a named strategy; it counts what the acquirer was told to do, not only the rows, and says held,
violated or inconclusive.

The exit code is the verdict: 0 as expected, 1 a guarantee was violated, 2 usage, 3 could not run, 4 inconclusive, 130 interrupted.`,
		Example:           "  idemlab race\n  idemlab race --strategy=insert-first --attempts 100\n  idemlab explain insert-first",
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              cobra.ArbitraryArgs, // so that RunE answers for a command that does not exist
		RunE:              noCommand,
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.checkColor() },
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usagef("%w\nsee: %s --help", err, c.CommandPath())
	})
	root.PersistentFlags().StringVar(&a.color, "color", "auto", "colour the report: auto, always or never (NO_COLOR counts)")
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(
		a.race(),
		a.sweep(),
		a.load(),
		a.bystander(),
		a.consume(),
		a.explore(),
		a.verify(),
		a.mutate(),
		a.storage(),
		a.repeats(),
		a.serve(),
		a.acquirer(),
		a.retry(),
		a.recover(),
		a.reconcile(),
		a.expiry(),
		a.stored(),
		a.neighbours(),
		a.newStrategy(),
		a.strategies(),
		a.explain(),
		a.report(),
		a.compare(),
		a.version(),
	)
	return root
}

// noCommand prints the help, and says what is near where a command is not known.
func noCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	near := ""
	if s := c.SuggestionsFor(args[0]); len(s) > 0 {
		near = "; is it " + strings.Join(s, " or ") + "?"
	}
	return usagef("no command %q%s\nsee: idemlab --help", args[0], near)
}

func (a *app) checkColor() error {
	switch a.color {
	case "auto", "always", "never":
		return nil
	}
	return usagef("--color=%s: say auto, always or never", a.color)
}

func (a *app) version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  idemlab version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(a.stdout, "idemlab", version)
			return err
		},
	}
}

// noArgs is cobra.NoArgs as a usage error.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no argument, got %q\nsee: %s --help", c.CommandPath(), args[0], c.CommandPath())
	}
	return nil
}
