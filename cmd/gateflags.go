package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"idemlab/internal/gate"
	"idemlab/internal/report"
	"idemlab/results"
	"idemlab/scenarios"
)

// gateFlags turn a measurement into a test for CI: limits on what was measured, and a file that CI servers read. A command that
// prints runs adds them to its outputFlags with one call of add; prepare and put do the rest. Runs of race and load can be held to a baseline,
// too: their numbers are samples.
type gateFlags struct {
	exprs   []string
	junit   string
	engines []string // of the command's runs; none where the command has no gates
	parsed  []gate.Gate

	baseline baselineFlags
}

func (f *gateFlags) add(c *cobra.Command, engines ...string) {
	f.engines = engines
	c.Flags().StringArrayVar(&f.exprs, "fail-on", nil,
		"fail (exit code 1) where `EXPR` is true of a run, as in 'latency.p99_ms>250'; fields are the run document's; may be repeated")
	c.Flags().StringVar(&f.junit, "junit", "", "write a JUnit file, a test case for each run and each gate")
	// The only error is a flag that does not exist, which the first test run would show.
	_ = c.RegisterFlagCompletionFunc("fail-on", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		fields, err := gate.For(f.kinds(scenarios.Scenarios()))
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return fields.Paths(), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	})
	if !slices.ContainsFunc(engines, func(e string) bool { return e != "race" && e != "load" }) {
		f.baseline.add(c)
	}
}

// check refuses what could never be judged, before anything runs. of are the scenarios that will be run, where they are known.
func (f *gateFlags) check(of []scenarios.Scenario) error {
	if len(of) == 0 {
		of = scenarios.Scenarios()
	}
	if err := f.checkJUnit(); err != nil {
		return err
	}
	fields, err := gate.For(f.kinds(of))
	if err != nil {
		return err
	}
	f.parsed = nil
	for _, expr := range f.exprs {
		g, err := fields.Parse(expr)
		if err != nil {
			return usagef("--fail-on: %w", err)
		}
		f.parsed = append(f.parsed, g)
	}
	return f.baseline.check(f.engines)
}

// checkJUnit fails early where the file could not be written.
func (f *gateFlags) checkJUnit() error {
	switch {
	case f.junit == "":
		return nil
	case isDir(f.junit):
		return usagef("--junit %s: it is a folder; name a file in it", f.junit)
	}
	if err := canWriteBeside(f.junit); err != nil {
		return usagef("--junit: %w", err)
	}
	return nil
}

// kinds are the kinds of run that the command can make of these scenarios.
func (f *gateFlags) kinds(of []scenarios.Scenario) []gate.Kind {
	var kinds []gate.Kind
	for _, engine := range f.engines {
		for _, s := range of {
			kinds = append(kinds, kindOf(engine, s))
		}
	}
	return kinds
}

func kindOf(engine string, s scenarios.Scenario) gate.Kind {
	k := gate.Kind{Engine: engine, Acquirer: s.Acquirer, Followups: s.Followups, Measures: s.Measure != nil, Harm: s.Harm != ""}
	for _, a := range s.Answers {
		k.Answers = append(k.Answers, string(a))
	}
	return k
}

// judge writes into each run what came of the gates on it, and of the comparison, and lets exit codes follow. A verdict is of the guarantee, and no
// gate changes it.
func (f *gateFlags) judge(d *results.Document) error {
	judged := map[string]bool{}
	for i := range d.Runs {
		r := &d.Runs[i]
		s, _ := scenarios.ScenarioNamed(r.Scenario) // a spec's run has none, and so nothing that a scenario would bring
		var err error
		if r.Gates, err = gate.Judge(f.parsed, *r, kindOf(r.Engine, s)); err != nil {
			return err
		}
		for _, g := range r.Gates {
			judged[g.Expr] = true
			also(r, gateCode(g.Outcome))
		}
		d.ExitCode = worse(d.ExitCode, r.ExitCode)
	}
	var nowhere []string
	for _, g := range f.parsed {
		if !judged[g.Expr()] && len(d.Runs) > 0 {
			nowhere = append(nowhere, g.Expr())
		}
	}
	if len(nowhere) > 0 {
		err := fmt.Errorf("no run could have the field of the gate %s, so it has neither passed nor failed", strings.Join(nowhere, ", "))
		*d = withError(*d, coded{exitInconclusive, err})
	}
	return f.baseline.judge(d)
}

func gateCode(o results.GateOutcome) int {
	switch o {
	case results.GatePassed:
		return exitHeld
	case results.GateFailed:
		return exitViolated
	}
	return exitInconclusive
}

// also lets a run's exit code follow one more judge, and keeps what it was by the claim alone.
func also(r *results.Run, code int) {
	if r.ClaimExitCode == nil {
		claim := r.ExitCode
		r.ClaimExitCode = &claim
	}
	r.ExitCode = worse(r.ExitCode, code)
}

// refuse says that the flags cannot be obeyed beside something else.
func (f *gateFlags) refuse(beside string) error {
	if len(f.exprs) > 0 || f.junit != "" {
		return usagef("--fail-on and --junit do not go together with %s: leave one out", beside)
	}
	return nil
}

// writeJUnit writes the file that was asked for, if any.
func (f *gateFlags) writeJUnit(d results.Document) error {
	if f.junit == "" {
		return nil
	}
	return writeWhole(f.junit, func(w io.Writer) error { return report.JUnit(w, d) })
}
