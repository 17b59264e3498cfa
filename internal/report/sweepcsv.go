package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"

	"idemlab/results"
)

// csvColumn is one column of a sweep's CSV: its name as in the document, and its text; "" where the document has nothing.
type csvColumn struct {
	name string
	of   func(results.Sweep, spot) string
}

// CSV writes a line for each cell of a sweep, the same columns whatever was varied. What is absent is an empty field, not a zero.
func CSV(w io.Writer, d results.Document) error {
	out := csv.NewWriter(w)
	columns := csvColumns()
	var header []string
	for _, c := range columns {
		header = append(header, c.name)
	}
	lines := [][]string{header}
	if isSweep(d) {
		for _, cell := range d.Sweep.Cells {
			var line []string
			for _, c := range columns {
				line = append(line, c.of(*d.Sweep, spot{cell, d.Runs[cell.Run]}))
			}
			lines = append(lines, line)
		}
	}
	if err := out.WriteAll(lines); err != nil {
		return fmt.Errorf("write CSV: %w", err)
	}
	return nil
}

func csvColumns() []csvColumn {
	number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	optional := func(v *float64) string {
		if v == nil {
			return ""
		}
		return number(*v)
	}
	cell := func(name string, of func(results.Sweep, spot) string) csvColumn { return csvColumn{name, of} }
	setting := func(name string, of func(results.Settings) string) csvColumn {
		return cell(name, func(_ results.Sweep, c spot) string {
			if c.run.Settings == nil {
				return ""
			}
			return of(*c.run.Settings)
		})
	}
	acquirer := func(name string, of func(results.AcquirerSettings) string) csvColumn {
		return setting(name, func(s results.Settings) string {
			if s.AcquirerSettings == nil {
				return ""
			}
			return of(*s.AcquirerSettings)
		})
	}
	waits := func(name string, of func(results.Waits) string) csvColumn {
		return cell(name, func(_ results.Sweep, c spot) string {
			if c.run.Waits == nil {
				return ""
			}
			return of(*c.run.Waits)
		})
	}
	interval := func(name string, of func(results.Interval) float64) csvColumn {
		return cell(name, func(_ results.Sweep, c spot) string {
			if c.Interval == nil {
				return ""
			}
			return number(of(*c.Interval))
		})
	}
	latency := func(name string, of func(results.Latency) *float64) csvColumn {
		return cell(name, func(_ results.Sweep, c spot) string {
			if c.run.Latency == nil {
				return ""
			}
			return optional(of(*c.run.Latency))
		})
	}
	return []csvColumn{
		cell("scenario", func(_ results.Sweep, c spot) string { return c.run.Scenario }),
		cell("strategy", func(_ results.Sweep, c spot) string { return c.run.Strategy }),
		cell("isolation", func(_ results.Sweep, c spot) string { return c.run.Server.Isolation }),
		setting("attempts_per_intent", func(s results.Settings) string { return strconv.Itoa(s.AttemptsPerIntent) }),
		acquirer("acquirer_latency", func(s results.AcquirerSettings) string { return s.AcquirerLatency }),
		acquirer("acquirer_latency_ms", func(s results.AcquirerSettings) string { return number(s.AcquirerLatencyMS) }),
		setting("instances", func(s results.Settings) string { return strconv.Itoa(s.Instances) }),
		setting("pool", func(s results.Settings) string { return strconv.Itoa(s.Pool) }),
		cell("seed", func(_ results.Sweep, c spot) string { return strconv.FormatUint(c.run.Seed, 10) }),
		cell("rounds", func(_ results.Sweep, c spot) string { return strconv.Itoa(c.Rounds) }),
		cell("intents", func(_ results.Sweep, c spot) string { return strconv.Itoa(c.Intents) }),
		cell("measure", func(w results.Sweep, _ spot) string { return string(w.Measure) }),
		cell("found", func(_ results.Sweep, c spot) string { return strconv.Itoa(c.Found) }),
		cell("share", func(_ results.Sweep, c spot) string { return number(c.Share) }),
		interval("share_low", func(i results.Interval) float64 { return i.Low }),
		interval("share_high", func(i results.Interval) float64 { return i.High }),
		cell("confidence", func(w results.Sweep, _ spot) string { return number(w.Confidence) }),
		cell("duplicate_captures", func(_ results.Sweep, c spot) string {
			if c.run.Counts == nil || c.run.Counts.AcquirerCounts == nil {
				return ""
			}
			return strconv.Itoa(c.run.Counts.DuplicateCaptures)
		}),
		cell("attempts_per_second", func(_ results.Sweep, c spot) string { return optional(c.PerSecond) }),
		waits("lock_waits", func(w results.Waits) string { return strconv.Itoa(w.Lock.Count) }),
		waits("lock_waits_total_ms", func(w results.Waits) string { return number(w.Lock.TotalMS) }),
		waits("pool_waits", func(w results.Waits) string { return strconv.Itoa(w.Pool.Count) }),
		waits("pool_waits_total_ms", func(w results.Waits) string { return number(w.Pool.TotalMS) }),
		latency("latency_p50_ms", func(l results.Latency) *float64 { return l.P50MS }),
		latency("latency_p99_ms", func(l results.Latency) *float64 { return l.P99MS }),
		cell("status", func(_ results.Sweep, c spot) string { return string(c.run.Status) }),
		cell("verdict", func(_ results.Sweep, c spot) string { return string(c.run.Verdict) }),
		cell("expected", func(_ results.Sweep, c spot) string { return string(c.run.Expected) }),
		cell("reason", func(_ results.Sweep, c spot) string { return c.run.Reason }),
	}
}
