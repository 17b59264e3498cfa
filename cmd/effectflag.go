package cmd

import (
	"strings"

	"github.com/spf13/cobra"

	"idemlab/scenarios"
)

// effectFlag says what the acquirer has happen, for every command that can do with something else than money.
type effectFlag struct{ scenarios.Effect }

func (f *effectFlag) add(c *cobra.Command) {
	c.Flags().Var(f, "effect", "what must happen once: capture, or email: the same strategies send e-mails over SMTP to a mail server that counts them")
	// The only error is a flag that does not exist, which the first test run would show.
	_ = c.RegisterFlagCompletionFunc("effect", cobra.FixedCompletions(scenarios.EffectNames(), cobra.ShellCompDirectiveNoFileComp))
}

// Set parses name; it is the opposite of String.
func (f *effectFlag) Set(name string) error {
	e, ok := scenarios.EffectNamed(name)
	if !ok {
		return usagef("say %s", strings.Join(scenarios.EffectNames(), " or "))
	}
	f.Effect = e
	return nil
}

// Type names the flag's value in help.
func (f *effectFlag) Type() string { return "effect" }

// fits refuses an effect where a scenario has none.
func (f *effectFlag) fits(s scenarios.Scenario) error {
	if f.Effect == scenarios.Money || s.Acquirer {
		return nil
	}
	return usagef("--effect %s: the scenario %s asks nobody outside the database for anything, so there is no effect to be another one: "+
		"what it guards is rows, and a rollback undoes them; take a strategy of the scenario %s (idemlab strategies)", f.Effect, s.Name, scenarios.ChargeOnce.Name)
}
