package report

import (
	"fmt"
	"slices"
	"strings"

	"idemlab/results"
)

// isSweep says whether the document's runs lie on a grid of settings.
func isSweep(d results.Document) bool { return d.Sweep != nil && len(d.Runs) > 0 }

// spot is a cell with its run.
type spot struct {
	results.SweepCell
	run results.Run
}

// ground is one strategy's part of the grid.
type ground struct {
	strategy string
	runs     []results.Run // all, those too that came to no intent
	spots    []spot        // in the order in which they were run
}

// grounds takes the grid apart, strategy by strategy.
func grounds(d results.Document) (all []ground) {
	at := map[string]int{}
	for _, r := range d.Runs {
		if _, known := at[r.Strategy]; !known {
			at[r.Strategy] = len(all)
			all = append(all, ground{strategy: r.Strategy})
		}
		g := &all[at[r.Strategy]]
		g.runs = append(g.runs, r)
	}
	for _, c := range d.Sweep.Cells {
		g := &all[at[d.Runs[c.Run].Strategy]]
		g.spots = append(g.spots, spot{c, d.Runs[c.Run]})
	}
	return all
}

// sweep writes the maps of each strategy, what their signs mean, and how it did over the grid.
func sweep(b *strings.Builder, d results.Document, s Style) error {
	sweepHeading(b, d, s)
	names := s.Maps
	if len(names) == 0 {
		names = Maps()[:1]
	}
	for _, g := range grounds(d) {
		for _, name := range names {
			if err := heatMap(b, *d.Sweep, g, chartOf(name, *d.Sweep), s); err != nil {
				return err
			}
		}
		if s.Details {
			if err := details(b, *d.Sweep, g, s); err != nil {
				return err
			}
		}
	}
	legend(b, d)
	if err := sweepJudges(b, d, s); err != nil {
		return err
	}
	if d.Error != nil {
		fmt.Fprintf(b, "\nerror: %s\n", *d.Error)
	}
	sweepVerdicts(b, d, s)
	return nil
}

// sweepHeading says what varies, what does not, and where it ran.
func sweepHeading(b *strings.Builder, d results.Document, s Style) {
	r, w := d.Runs[0], d.Sweep
	axes := []string{w.X.Name}
	if w.Y != nil {
		axes = append(axes, w.Y.Name)
	}
	times := " × "
	if s.ASCII {
		times = " x "
	}
	fmt.Fprintf(b, "sweep, %s: %s, %s", r.Scenario, strings.Join(axes, times), count(w.Planned, "cell"))
	if c := r.Settings; c != nil {
		fmt.Fprintf(b, " of %s of %s each", count(max(1, c.Rounds), "round"), count(c.Intents, "intent"))
		for _, f := range fixed(d, *c) {
			if !slices.Contains(axes, f.axis) {
				fmt.Fprintf(b, "; %s", f.text)
			}
		}
	}
	fmt.Fprintf(b, "; seed %d\nPostgreSQL %s (%s)", r.Seed, r.Server.Version, r.Server.Source)
	if !slices.Contains(axes, "isolation") {
		fmt.Fprintf(b, ", %s", r.Server.Isolation)
	}
	if r.Server.NotDurable != "" {
		fmt.Fprintf(b, "; NOT DURABLE: %s, so commits are too fast", r.Server.NotDurable)
	}
	b.WriteString("\n")
}

// unvaried is a setting in words, to be left out where it is an axis.
type unvaried struct{ axis, text string }

func fixed(d results.Document, c results.Settings) []unvaried {
	list := []unvaried{{"attempts", count(c.AttemptsPerIntent, "attempt")}}
	if c.Instances > 1 {
		list = append(list, unvaried{"instances", count(c.Instances, "instance")})
	}
	pool := fmt.Sprintf("pool %d", c.Pool)
	for _, r := range d.Runs {
		if r.Settings != nil && r.Settings.Pool != c.Pool {
			pool = "a connection for each attempt"
		}
	}
	list = append(list, unvaried{"pool", pool})
	if c.AcquirerSettings != nil {
		list = append(list, unvaried{"acquirer-latency", "the acquirer takes " + c.AcquirerLatency})
	}
	return list
}

// legend explains the signs that were used, and what it says that none was found, or all.
func legend(b *strings.Builder, d results.Document) {
	var lines []string
	used := map[string]bool{}
	var others []string
	for _, c := range d.Sweep.Cells {
		if line := boundOf(c, d.Sweep.Confidence); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
		m := sign(spot{c, d.Runs[c.Run]})
		used[m] = true
		if k := kinds(d.Runs[c.Run]); m == otherSign && !slices.Contains(others, k) {
			others = append(others, k)
		}
	}
	slices.Sort(lines) // none before all
	for _, m := range []struct{ sign, means string }{
		{unsureSign, "undecided: what was not found there may have gone unseen"},
		{otherSign, "none " + foundWord(*d.Sweep) + ", and violated all the same: " + strings.Join(others, "; ")},
		{cutSign, "not finished: measured until then"},
	} {
		if used[m.sign] {
			lines = append(lines, m.sign+" "+m.means)
		}
	}
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n%s\n", strings.Join(lines, "\n"))
	}
}

// boundOf says what can be true where none, or all, was found.
func boundOf(c results.SweepCell, confidence float64) string {
	if c.Interval == nil {
		return ""
	}
	of := fmt.Sprintf("of %s in %s", count(c.Intents, "intent"), count(c.Rounds, "round"))
	switch c.Found {
	case 0:
		return fmt.Sprintf("0%%: 0 %s, so the true share is below %.1f%% (%.0f%% confidence; rounds are counted).", of, 100*c.Interval.High, 100*confidence)
	case c.Intents:
		return fmt.Sprintf("100%%: %d %s, so the true share is above %.1f%% (%.0f%% confidence; rounds are counted).", c.Found, of, 100*c.Interval.Low, 100*confidence)
	}
	return ""
}
