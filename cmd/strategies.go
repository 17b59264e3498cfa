package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"idemlab/scenarios"
)

func (a *app) strategies() *cobra.Command {
	return &cobra.Command{
		Use:     "strategies",
		Short:   "List the strategies, scenario by scenario",
		Example: "  idemlab strategies",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			width := 0
			for _, s := range scenarios.All() {
				width = max(width, len(s.Name))
			}
			var b strings.Builder
			for i, c := range scenarios.Scenarios() {
				if i > 0 {
					b.WriteString("\n")
				}
				fmt.Fprintf(&b, "scenario %s: %s\n", c.Name, c.Title)
				for _, s := range c.Strategies() {
					fmt.Fprintf(&b, "%-*s %s\n", width, s.Name, s.Title)
				}
			}
			_, err := fmt.Fprint(a.stdout, b.String())
			return err
		},
	}
}

func (a *app) explain() *cobra.Command {
	return &cobra.Command{
		Use:       "explain NAME",
		Short:     "Say what a strategy claims, why, and in which SQL",
		Example:   "  idemlab explain insert-first",
		ValidArgs: strategyNames(),
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("explain takes one name of: %s", strings.Join(strategyNames(), ", "))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := strategyOf(args[0])
			if err != nil {
				return err
			}
			text, err := explanation(s)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(a.stdout, text)
			return err
		},
	}
}

func explanation(s scenarios.Strategy) (string, error) {
	steps, err := scenarios.Steps(s.Name)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n", s.Name, s.Title, s.Text)
	claims(&b, "never", s.Never)
	claims(&b, "shows", s.Shows)
	fmt.Fprintf(&b, "\nscenario %s\n", s.Scenario().Name)
	for _, name := range s.Without {
		fmt.Fprintf(&b, "\ndoes without %s\n", name)
	}
	for _, name := range s.Needs {
		fmt.Fprintf(&b, "\nneeds %s\n", name)
	}
	if s.MinServer > 0 {
		fmt.Fprintf(&b, "\nneeds PostgreSQL %d or later\n", s.MinServer)
	}
	if s.WantsDedup {
		b.WriteString("\nis given an acquirer that moves money once for each key\n")
	}
	for _, st := range steps {
		fmt.Fprintf(&b, "\n%s\n", st)
	}
	return b.String(), nil
}

// claims prints a list by hazard and level, with the anomalies that share both on one line.
func claims(b *strings.Builder, verb string, list []scenarios.Claim) {
	var heads []string
	lines := map[string][]string{}
	for _, c := range list {
		at := "every isolation level"
		if c.At != nil {
			var levels []string
			for _, l := range c.At {
				levels = append(levels, string(l))
			}
			at = strings.Join(levels, ", ")
		}
		head := fmt.Sprintf("%s under %s, at %s", verb, c.Under, at)
		if lines[head] == nil {
			heads = append(heads, head)
		}
		lines[head] = append(lines[head], string(c.Anomaly))
	}
	for _, h := range heads {
		fmt.Fprintf(b, "\n%s: %s", h, strings.Join(lines[h], ", "))
	}
	if len(heads) > 0 {
		b.WriteString("\n")
	}
}
