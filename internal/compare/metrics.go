package compare

import (
	"fmt"
	"math"
	"slices"

	"idemlab/results"
)

// metric is one number of a kind of run: where its samples are, and which way is worse.
type metric struct {
	field   string
	samples string
	lower   bool // is better
	blame   bool // a change to the worse is a fault
	old     []float64
	new     []float64
	few     string // why there are too few samples, and what to do about it; empty where that is the test's to say
}

// metrics are the numbers that runs of one kind are compared by.
func metrics(old, new []results.Run) []metric {
	switch new[0].Engine {
	case "race":
		return raceMetrics(old, new)
	case "load":
		return loadMetrics(old, new)
	}
	return nil
}

// raceMetrics are latencies by the run, since the attempts of one run stood in each other's way, and are one sample together; and
// what went wrong by the round, since rounds are new races each.
func raceMetrics(old, new []results.Run) []metric {
	perRun := func(of func(results.Percentiles) *float64) func(results.Run) *float64 {
		return func(r results.Run) *float64 {
			if r.Latency == nil {
				return nil
			}
			return of(r.Latency.Percentiles)
		}
	}
	all := []metric{
		runMetric("latency.p50_ms", true, old, new, perRun(func(p results.Percentiles) *float64 { return p.P50MS })),
		runMetric("latency.p99_ms", true, old, new, perRun(func(p results.Percentiles) *float64 { return p.P99MS })),
	}
	// A bad example that goes wrong twice more often than before does what it is there for.
	blame := new[len(new)-1].Expected == results.Held
	for _, m := range []metric{
		roundMetric("rounds.duplicate_captures", blame, old, new, func(r results.Round) *int {
			if r.RoundCharges == nil { // no money moves at an acquirer
				return nil
			}
			return &r.DuplicateCaptures
		}),
		roundMetric("rounds.intents_violated", blame, old, new, func(r results.Round) *int { return r.IntentsViolated }),
	} {
		if len(m.old) > 0 && len(m.new) > 0 {
			all = append(all, m)
		}
	}
	return all
}

// roundMetric has a sample of each round that counted it.
func roundMetric(field string, blame bool, old, new []results.Run, of func(results.Round) *int) metric {
	samples := func(runs []results.Run) (samples []float64) {
		for _, r := range runs {
			for _, round := range r.Rounds {
				if n := of(round); n != nil {
					samples = append(samples, float64(*n))
				}
			}
		}
		return thin(samples)
	}
	return metric{field: field, samples: "rounds", lower: true, blame: blame, old: samples(old), new: samples(new)}
}

// loadMetrics are throughput and response times: by the run where there are enough runs, else by blocks of seconds.
func loadMetrics(old, new []results.Run) []metric {
	if enough(len(old), len(new)) {
		of := func(f func(results.Load) *float64) func(results.Run) *float64 {
			return func(r results.Run) *float64 {
				if r.Load == nil {
					return nil
				}
				return f(*r.Load)
			}
		}
		return []metric{
			runMetric("load.attempts_per_second", false, old, new, of(func(l results.Load) *float64 { return &l.PerSecond })),
			runMetric("load.response.p50_ms", true, old, new, of(func(l results.Load) *float64 { return l.Response.P50MS })),
			runMetric("load.response.p99_ms", true, old, new, of(func(l results.Load) *float64 { return l.Response.P99MS })),
		}
	}
	p99 := secondsMetric("load.seconds.p99_ms", true, old, new, func(s results.Second) *float64 { return s.P99MS })
	all := []metric{
		secondsMetric("load.seconds.attempts", false, old, new, func(s results.Second) *float64 { n := float64(s.Attempts); return &n }),
		secondsMetric("load.seconds.p50_ms", true, old, new, func(s results.Second) *float64 { return s.P50MS }),
	}
	if p99.few != "" { // the next that there may be enough of
		all = append(all, secondsMetric("load.seconds.p90_ms", true, old, new, func(s results.Second) *float64 { return s.P90MS }))
	}
	return append(all, p99)
}

// runMetric has a sample of each run that measured it.
func runMetric(field string, lower bool, old, new []results.Run, of func(results.Run) *float64) metric {
	samples := func(runs []results.Run) (samples []float64) {
		for _, r := range runs {
			if v := of(r); v != nil {
				samples = append(samples, *v)
			}
		}
		return thin(samples)
	}
	return metric{field: field, samples: "runs", lower: lower, blame: true, old: samples(old), new: samples(new)}
}

// secondsMetric has a sample of each block of seconds. Blocks are as long on both sides, and reach over no run's end.
//
// A second has a percentile only where enough attempts were answered in it. Where that is so of some seconds alone they are the fast
// ones, and no picture of the whole: the percentile is then not compared.
func secondsMetric(field string, lower bool, old, new []results.Run, of func(results.Second) *float64) metric {
	before, after := secondsOf(old, of), secondsOf(new, of)
	all := slices.Concat(before, after)
	shortestRun, seconds, absent := math.MaxInt, 0, 0
	for _, values := range all {
		shortestRun = min(shortestRun, len(values))
		seconds += len(values)
		for _, v := range values {
			if math.IsNaN(v) {
				absent++
			}
		}
	}
	rho := fromOneToTheNext(all)
	length := blockLength(shortestRun, rho)
	m := metric{field: field, samples: fmt.Sprintf("blocks of %d s", length), lower: lower, blame: true}
	for _, values := range before {
		m.old = append(m.old, blocks(values, length)...)
	}
	for _, values := range after {
		m.new = append(m.new, blocks(values, length)...)
	}
	switch {
	case shortestRun < fewestToTell:
		m.few = fmt.Sprintf("measure for %d s or more (--duration %ds), or compare several runs", fewestToTell, fewestToTell)
	case 10*absent > seconds:
		m.few = fmt.Sprintf("%d of %d seconds have too few attempts for this percentile: compare several runs", absent, seconds)
	case !enough(len(m.old), len(m.new)):
		m.few = fmt.Sprintf("each second is like the one before it (correlation %.2f), so that it takes blocks of %d s: measure for %d s or more, or compare several runs",
			rho, length, 4*length)
	}
	return m
}

// secondsOf are the values of each run's seconds; NaN where there is none.
func secondsOf(runs []results.Run, of func(results.Second) *float64) [][]float64 {
	var all [][]float64
	for _, r := range runs {
		var values []float64
		if r.Load != nil {
			for _, s := range r.Load.Seconds {
				v := math.NaN()
				if measured := of(s); measured != nil {
					v = *measured
				}
				values = append(values, v)
			}
		}
		all = append(all, values)
	}
	return all
}

// judge compares the samples.
func (m metric) judge(tolerance float64) results.Metric {
	out := results.Metric{Field: m.field, Samples: m.samples, OldN: len(m.old), NewN: len(m.new), Outcome: results.TooFew, Reason: m.few}
	if m.few != "" {
		return out
	}
	out.OldMedian, out.NewMedian = finite(median(m.old)), finite(median(m.new))
	r, ok := compareSamples(m.old, m.new)
	if !ok {
		out.Reason = "4 and 4 would do, or more on one side"
		return out
	}
	out.Ratio, out.RatioLow, out.RatioHigh = finite(r.estimate), finite(r.low), finite(r.high)
	worse := r.low > 1 == m.lower
	beyond := r.estimate > 1+tolerance
	if !m.lower {
		beyond = r.estimate < 1-tolerance
	}
	switch {
	case !r.differs():
		out.Outcome = results.NoDifference
	case !worse:
		out.Outcome = results.Better
	case beyond && m.blame:
		out.Outcome = results.Regressed
	default:
		out.Outcome = results.Worse
	}
	return out
}

// finite leaves out what a JSON number cannot be.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	v = math.Round(v*1e6) / 1e6
	return &v
}
