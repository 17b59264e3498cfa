package cmd

import (
	"strings"

	"idemlab/internal/stat"
	"idemlab/results"
)

// sweep says where the runs lie, and what the rounds of each come to.
func (p *plan) sweep(ran []job) *results.Sweep {
	s := &results.Sweep{
		Measure: p.measure, Confidence: stat.Confidence, Planned: len(p.cells),
		X: p.x.document(), Cells: []results.SweepCell{},
	}
	if p.y != nil {
		y := p.y.document()
		s.Y = &y
	}
	for i, j := range ran {
		if c, ok := cellOf(j.run, p.measure); ok {
			c.Run, c.X, c.Y = i, j.x, j.y
			s.Cells = append(s.Cells, c)
		}
	}
	return s
}

func (a axis) document() results.Axis {
	d := results.Axis{Name: a.name}
	for _, v := range a.values {
		d.Values = append(d.Values, v.label)
	}
	return d
}

// cellOf adds the rounds of a run up; there is nothing to add where no intent came to its end.
func cellOf(run results.Run, m results.Measure) (c results.SweepCell, ok bool) {
	var sample []stat.Round
	for _, r := range run.Rounds {
		n := found(r, m)
		if r.Intents == 0 || n == nil {
			continue
		}
		c.Rounds++
		c.Intents += r.Intents
		c.Found += *n
		sample = append(sample, stat.Round{N: r.Intents, Found: *n})
	}
	if c.Intents == 0 {
		return c, false
	}
	share, interval, bounded := stat.Share(sample)
	c.Share = share
	if undecided := c.Found == 0 && run.Verdict == results.Inconclusive; bounded && !undecided { // nothing found there bounds nothing
		c.Interval = &results.Interval{Low: interval.Low, High: interval.High}
	}
	if run.RacingMS != nil && *run.RacingMS > 0 {
		rate := float64(run.Counts.Attempts) / (*run.RacingMS / 1000)
		c.PerSecond = &rate
	}
	return c, true
}

func found(r results.Round, m results.Measure) *int {
	if m == results.IntentsViolated {
		return r.IntentsViolated
	}
	if r.RoundCharges == nil {
		return nil
	}
	return &r.IntentsDoubleCharged
}

// shownInTheGrid forgives a cell that did not show what another one did: a grid is run to see where a bad example is caught, and it is
// caught once it is caught anywhere. It must be so under the same claims: those of the level, and of one instance or several.
func shownInTheGrid(ran []job) {
	type claims struct {
		strategy, isolation string
		several             bool
	}
	of := func(j job) claims { return claims{j.run.Strategy, j.run.Server.Isolation, j.race.Instances > 1} }
	shown := map[claims]bool{}
	for _, j := range ran {
		if j.run.Expected == results.Violated && j.run.ExitCode == exitHeld {
			shown[of(j)] = true
		}
	}
	for i, j := range ran {
		r := &ran[i].run
		missed := r.ExitCode == exitInconclusive || r.ExitCode == exitViolated && r.Verdict == results.Held
		if r.Expected == results.Violated && r.Status == results.Complete && missed && shown[of(j)] {
			r.ExitCode, r.Reason = exitHeld, strings.TrimPrefix(r.Reason+"; another cell of the grid shows it", "; ")
		}
	}
}
