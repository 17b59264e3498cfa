package cmd

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"idemlab/internal/race"
	"idemlab/results"
)

// mostCells bounds a sweep: each cell's whole run stands in the document.
const mostCells = 400

// sweepFlags are the flags of sweep as typed: those of a race, and what of it varies.
type sweepFlags struct {
	race raceFlags
	x, y string
	csv  string
}

func (f *sweepFlags) add(a *app, c *cobra.Command) {
	fl := c.Flags()
	f.race.add(c)
	f.race.rounds, f.race.intents = 10, 5 // a cell is a sample, not an anecdote
	fl.Lookup("rounds").DefValue, fl.Lookup("intents").DefValue = "10", "5"
	fl.StringVarP(&f.x, "x", "x", "", "what varies from left to right, NAME=VALUE,VALUE,…: one of "+strings.Join(variableNames(), ", "))
	fl.StringVarP(&f.y, "y", "y", "", "what varies from top to bottom (without it: nothing, and the map is one row)")
	fl.StringVar(&f.csv, "csv", "", "write a line for each cell to this file, as CSV (-: to stdout, in place of the map)")
	a.addMaps(c)
	var axes []string
	for _, name := range variableNames() {
		axes = append(axes, name+"=")
	}
	for _, flag := range []string{"x", "y"} {
		// The only error is a flag that does not exist, which the first test run would show.
		_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(axes, cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
	}
}

// plan is a sweep before it is run: its axes, and a race for each cell.
type plan struct {
	measure results.Measure
	x       axis
	y       *axis // nil where one thing varies
	cells   []job
}

// plan checks everything that can be wrong before a server is looked for. set says whether a flag was typed.
func (f *sweepFlags) plan(a *app, set func(flag string) bool) (p plan, err error) {
	switch {
	case f.x == "":
		return p, usagef("say what to vary, as in --x %s; then perhaps --y %s", exampleOf("attempts"), exampleOf("acquirer-latency"))
	case f.csv == "-" && f.race.output.json:
		return p, usagef("--csv - and --json: stdout takes one of them; name a file with --csv")
	}
	if p.x, err = axisOf(f.x); err != nil {
		return p, usagef("--x %s: %w", f.x, err)
	}
	rows := []setting{{apply: func(*raceFlags) {}}}
	if f.y != "" {
		y, err := axisOf(f.y)
		if err != nil {
			return p, usagef("--y %s: %w", f.y, err)
		}
		p.y, rows = &y, y.values
	}
	if err := f.clash(p, set); err != nil {
		return p, err
	}
	c, err := f.race.common.common(a)
	if err == nil {
		err = c.oneScenario()
	}
	if err != nil {
		return p, err // what is wrong in every cell is said of none
	}
	return p, f.layOut(a, &p, rows)
}

// clash refuses what is said twice.
func (f *sweepFlags) clash(p plan, set func(flag string) bool) error {
	if p.y != nil && p.y.name == p.x.name {
		return usagef("--x and --y both vary %s: name two things, or leave --y out", p.x.name)
	}
	for flag, ax := range map[string]*axis{"--x": &p.x, "--y": p.y} {
		if ax != nil && set(ax.name) {
			return usagef("%s varies %s, and --%s fixes it: leave one of them out", flag, ax.name, ax.name)
		}
	}
	return nil
}

// layOut makes the cells, strategy by strategy, each of them row by row.
func (f *sweepFlags) layOut(a *app, p *plan, rows []setting) error {
	var grid [][]job // for each pair of values, a race of each strategy
	for _, y := range rows {
		for _, x := range p.x.values {
			cell := f.race
			x.apply(&cell)
			y.apply(&cell)
			options, err := cell.options(a)
			if err != nil {
				return fmt.Errorf("at %s: %w", p.place(x.label, y.label), err)
			}
			var jobs []job
			for _, o := range options {
				what := o.Strategy.Name + ", " + p.place(x.label, y.label)
				jobs = append(jobs, job{race: o, what: what, x: x.label, y: y.label})
			}
			grid = append(grid, jobs)
		}
	}
	strategies := grid[0]
	if n := len(grid) * len(strategies); n > mostCells {
		return usagef("%d cells, and %d is the most: name fewer values or strategies", n, mostCells)
	}
	for i := range strategies {
		for _, jobs := range grid {
			p.cells = append(p.cells, jobs[i])
		}
	}
	return p.measures(strategies[0].race)
}

// measures says what is counted in each cell, by the scenario.
func (p *plan) measures(o race.Options) error {
	p.measure = results.IntentsViolated
	if o.Scenario.Acquirer && o.Scenario.Harm == "" {
		p.measure = results.IntentsDoubleCharged
	}
	if o.Scenario.Acquirer {
		return nil
	}
	if p.x.name == "acquirer-latency" || p.y != nil && p.y.name == "acquirer-latency" {
		return usagef("acquirer-latency: nobody calls an acquirer in the scenario %s; vary something else", o.Scenario.Name)
	}
	return nil
}

// place names a cell as its flags would be typed.
func (p *plan) place(x, y string) string {
	if p.y == nil {
		return p.x.name + "=" + x
	}
	return fmt.Sprintf("%s=%s, %s=%s", p.x.name, x, p.y.name, y)
}
