package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"idemlab/results"
)

// Comparison is the report of a document whose runs were only compared: what each differs in from earlier runs of its kind, and
// whether that is a regression, last.
func Comparison(w io.Writer, d results.Document, s Style) error {
	var b strings.Builder
	if err := baselines(&b, d.Runs, s); err != nil {
		return err
	}
	for i, gone := range d.Skipped {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s: not compared (%s)\n", gone.Strategy, gone.Reason)
	}
	compared, regressions := 0, 0
	for _, r := range d.Runs {
		if r.Baseline != nil && r.Baseline.Outcome != results.NotCompared {
			compared++
		}
		if r.Baseline != nil && r.Baseline.Outcome == results.Regression {
			regressions++
		}
	}
	switch {
	case compared == 0:
		b.WriteString("\nverdict: inconclusive: nothing could be compared\n")
	case regressions == 0:
		fmt.Fprintf(&b, "\nverdict: no regression in %s compared\n", count(compared, "kind")+" of run")
	default:
		fmt.Fprintf(&b, "\nverdict: REGRESSION in %d of %s compared: %s\n", regressions, count(compared, "kind")+" of run", strings.Join(regressed(d.Runs), ", "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// baselines are the runs that were compared with earlier ones: a table of the numbers, and below it what takes words.
func baselines(b *strings.Builder, runs []results.Run, s Style) error {
	var compared []results.Run
	for _, r := range runs {
		if r.Baseline != nil {
			compared = append(compared, r)
		}
	}
	if len(compared) == 0 {
		return nil
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	first := compared[0].Baseline
	fmt.Fprintf(b, "compared with %s; a number is a regression where it is worse by more than %s %%, beyond noise (95%% confidence)\n", first.Source, scalar(first.TolerancePercent))
	for _, r := range compared {
		fmt.Fprintf(b, "\n%s: %s\n", r.Strategy, asked(r))
		if err := metricTable(b, r, s); err != nil {
			return err
		}
		baselineWords(b, r, s)
	}
	return nil
}

// asked tells a run from others of its strategy: which hazard, at which level, how much at a time.
func asked(r results.Run) string {
	parts := []string{Cell(r)}
	if c := r.Settings; c != nil {
		parts = append(parts, fmt.Sprintf("%s at %s", count(c.AttemptsPerIntent, "attempt"), count(c.Intents, "intent")))
		parts = append(parts, service(c.Instances, c.Pool, c.AcquirerSettings, wordsOf(r).Far)...)
	}
	if r.Load != nil {
		c := r.Load.Settings
		clients := fmt.Sprintf("%g arrivals a second", c.Rate)
		if c.Clients > 0 {
			clients = count(c.Clients, "client")
		}
		parts = append(append(parts, clients), service(c.Instances, c.Pool, c.AcquirerSettings, wordsOf(r).Far)...)
	}
	return strings.Join(parts, ", ")
}

func service(instances, pool int, a *results.AcquirerSettings, far string) []string {
	parts := []string{count(instances, "instance"), fmt.Sprintf("pool %d", pool)}
	if a != nil {
		parts = append(parts, far+" "+a.AcquirerLatency)
	}
	return parts
}

// metricTable is as wide as it must be; where that is too wide, it is a list.
func metricTable(b *strings.Builder, r results.Run, s Style) error {
	if len(r.Baseline.Metrics) == 0 {
		return nil
	}
	var out bytes.Buffer
	t := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{Symbols: tw.NewSymbols(tw.StyleLight)})),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft), tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithEastAsian(tw.Off))
	t.Header("", "old", "new", "new / old", "samples", "")
	var list strings.Builder
	for _, m := range r.Baseline.Metrics {
		old, now := metricValue(m.Field, m.OldMedian), metricValue(m.Field, m.NewMedian)
		samples, words := fmt.Sprintf("%d and %d %s", m.OldN, m.NewN, m.Samples), field{mood: moodOfMetric(m)}.paint(metricWords(m), s)
		if err := t.Append(m.Field, old, now, times(m), samples, words); err != nil {
			return fmt.Errorf("add row to table of numbers: %w", err)
		}
		fmt.Fprintf(&list, "  %s\n    %s, was %s: %s\n    %s over %s\n", m.Field, now, old, times(m), words, samples)
	}
	if err := t.Render(); err != nil {
		return fmt.Errorf("render table of numbers: %w", err)
	}
	if table := out.String(); widest(table) <= s.Width {
		b.WriteString(table)
		return nil
	}
	b.WriteString(list.String())
	return nil
}

func metricValue(field string, v *float64) string {
	switch {
	case v == nil:
		return absent
	case strings.HasSuffix(field, "_ms"):
		return ms(v)
	case *v >= 1000:
		return thousands(int64(*v))
	}
	return fmt.Sprintf("%.3g", *v)
}

// times is the ratio with its interval, or the sign that benchstat has taught everybody. What was zero has no bound above.
func times(m results.Metric) string {
	text := ""
	switch {
	case m.Outcome == results.TooFew:
		return "~"
	case m.RatioLow == nil:
		text = "from 0"
	case m.RatioHigh == nil || m.Ratio == nil:
		text = fmt.Sprintf("more than %.2f", *m.RatioLow)
	default:
		text = fmt.Sprintf("%.2f (%.2f to %.2f)", *m.Ratio, *m.RatioLow, *m.RatioHigh)
	}
	if m.Outcome == results.NoDifference {
		return "~ " + text
	}
	return text
}

func metricWords(m results.Metric) string {
	switch m.Outcome {
	case results.TooFew:
		return "too few"
	case results.Regressed:
		return "REGRESSION"
	}
	return string(m.Outcome)
}

func moodOfMetric(m results.Metric) mood {
	return map[results.MetricOutcome]mood{results.Regressed: bad, results.Better: good, results.Worse: unsure}[m.Outcome]
}

// baselineWords is what no table holds: why nothing was compared, what else differs, and which results are others.
func baselineWords(b *strings.Builder, r results.Run, s Style) {
	base := r.Baseline
	for _, m := range base.Metrics {
		if m.Outcome == results.TooFew && m.Reason != "" {
			fmt.Fprintf(b, "%s: too few samples: %s\n", m.Field, m.Reason)
		}
	}
	if slices.ContainsFunc(base.Metrics, func(m results.Metric) bool {
		return m.Outcome == results.Regressed && strings.HasPrefix(m.Samples, "blocks")
	}) {
		fmt.Fprintf(b, "the samples are from %s and %s: what else differed between them counts, too; 4 runs on each side, recorded in turn, tell more\n",
			count(base.OldRuns, "run"), count(base.NewRuns, "run"))
	}
	if base.Forced {
		b.WriteString("compared although what shapes the numbers differs\n")
	}
	for _, d := range base.Differences {
		if base.Outcome != results.NotCompared || !d.Shapes { // else the reason names it
			fmt.Fprintf(b, "%s was %s and is %s\n", d.Field, d.Old, d.New)
		}
	}
	for _, c := range base.Changes {
		words, m := "", good
		if c.Regression {
			words, m = ": REGRESSION", bad
		}
		fmt.Fprintln(b, field{mood: m}.paint(fmt.Sprintf("%s was %s and is %s%s", c.Field, c.Old, c.New, words), s))
	}
	switch base.Outcome {
	case results.NotCompared:
		fmt.Fprintln(b, field{mood: unsure}.paint("not compared: "+base.Reason, s))
	case results.NoRegression:
		fmt.Fprintf(b, "no regression against %s\n", count(base.OldRuns, "earlier run"))
	}
}

// regressed names what is a regression in each run.
func regressed(runs []results.Run) []string {
	var all []string
	for _, r := range runs {
		if r.Baseline == nil {
			continue
		}
		for _, c := range r.Baseline.Changes {
			if c.Regression {
				all = append(all, fmt.Sprintf("%s %s %s", r.Strategy, c.Field, c.New))
			}
		}
		for _, m := range r.Baseline.Metrics {
			if m.Outcome == results.Regressed {
				all = append(all, fmt.Sprintf("%s %s %s", r.Strategy, m.Field, factor(m)))
			}
		}
	}
	return few(all)
}

func factor(m results.Metric) string {
	if m.Ratio == nil {
		return "from 0"
	}
	return fmt.Sprintf("%.2f times", *m.Ratio)
}

// notCompared names the runs that no earlier one could be held against.
func notCompared(runs []results.Run) []string {
	var all []string
	for _, r := range runs {
		if r.Baseline != nil && r.Baseline.Outcome == results.NotCompared && r.Status == results.Complete {
			all = append(all, r.Strategy)
		}
	}
	return few(all)
}

// baselineLine is the comparison in a cell.
func baselineLine(r results.Run) []string {
	if r.Baseline == nil {
		return []string{absent}
	}
	if all := regressed([]results.Run{r}); len(all) > 0 {
		return append([]string{string(results.Regression)}, all...)
	}
	return []string{strings.TrimSuffix(fmt.Sprintf("%s: %s", r.Baseline.Outcome, r.Baseline.Reason), ": ")}
}
