package compare

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idemlab/results"
)

func ptr[T any](v T) *T { return &v }

// raced is a race that held, with so many duplicate captures in each round.
func raced(p99 float64, rounds ...int) results.Run {
	r := results.Run{
		Engine: "race", Scenario: "charge", Strategy: "insert-first", Status: results.Complete, Seed: 1,
		Tool:     results.Tool{Version: "0.1.0", Go: "go1.26", OS: "linux", Arch: "amd64", CPUs: 2},
		Server:   results.Server{Version: "15.18", Source: "embedded", Isolation: "read committed", Settings: map[string]string{"fsync": "on"}},
		Settings: &results.Settings{AttemptsPerIntent: 50, Intents: 20, Rounds: max(1, len(rounds)), Instances: 1, Pool: 50},
		Counts:   &results.Counts{AcquirerCounts: &results.AcquirerCounts{}},
		Latency:  &results.Latency{N: 1000, Percentiles: results.Percentiles{P50MS: ptr(p99 / 10), P99MS: &p99}},
		Verdict:  results.Held, Expected: results.Held,
	}
	for _, n := range rounds {
		r.Rounds = append(r.Rounds, results.Round{RoundCharges: &results.RoundCharges{DuplicateCaptures: n}})
		r.Counts.DuplicateCaptures += n
	}
	return r
}

// loaded is a load run whose seconds have these response times, and as many attempts as fit.
func loaded(p99 ...float64) results.Run {
	r := raced(100)
	r.Engine, r.Settings, r.Rounds = "load", nil, nil
	r.Load = &results.Load{Settings: results.LoadSettings{Loop: "closed", Clients: 8, DurationMS: 1000 * float64(len(p99)), Instances: 1, Pool: 8}}
	for i, v := range p99 {
		r.Load.Seconds = append(r.Load.Seconds, results.Second{Second: i + 1, Attempts: int(1e6 / v), Percentiles: results.Percentiles{P50MS: ptr(v / 4), P99MS: ptr(v)}})
	}
	r.Load.PerSecond, r.Load.Response = 1e6/p99[0], results.LoadLatency{N: 1000, Percentiles: results.Percentiles{P50MS: ptr(p99[0] / 4), P99MS: ptr(p99[0])}}
	return r
}

func one(t interface {
	Helper()
	Fatal(...any)
}, old, new []results.Run, o Options) results.Baseline {
	t.Helper()
	groups, gone, err := Runs(old, new, o)
	if err != nil || len(groups) != 1 || len(gone) != 0 {
		t.Fatal(len(groups), gone, err)
	}
	return groups[0].Baseline
}

func outcomes(b results.Baseline) string {
	var parts []string
	for _, m := range b.Metrics {
		parts = append(parts, fmt.Sprintf("%s: %s", m.Field, m.Outcome))
	}
	return strings.Join(parts, "; ")
}

func noisy(seed uint64, n int, level float64) []float64 {
	r := rand.New(rand.NewPCG(seed, 0))
	s := make([]float64, n)
	for i := range s {
		s[i] = level * (0.9 + 0.2*r.Float64())
	}
	return s
}

// slow is 60 seconds that go up and down once.
func slow(level float64) []float64 {
	s := noisy(1, 60, level)
	for i := range s {
		s[i] *= 2 + math.Sin(float64(i)/60*2*math.Pi)
	}
	return s
}

func TestLoadRuns(t *testing.T) {
	for name, c := range map[string]struct {
		old, new  results.Run
		tolerance float64
		want      results.BaselineOutcome
		metrics   string
	}{
		"the same": {loaded(noisy(1, 30, 10)...), loaded(noisy(2, 30, 10)...), 0, results.NoRegression,
			"load.seconds.attempts: no difference; load.seconds.p50_ms: no difference; load.seconds.p99_ms: no difference"},
		"twice as slow": {loaded(noisy(1, 30, 10)...), loaded(noisy(2, 30, 20)...), 0.1, results.Regression,
			"load.seconds.attempts: regression; load.seconds.p50_ms: regression; load.seconds.p99_ms: regression"},
		"twice as fast": {loaded(noisy(1, 30, 20)...), loaded(noisy(2, 30, 10)...), 0.1, results.NoRegression,
			"load.seconds.attempts: better; load.seconds.p50_ms: better; load.seconds.p99_ms: better"},
		"slower, as is tolerated": {loaded(noisy(1, 60, 10)...), loaded(noisy(2, 60, 11.5)...), 0.2, results.NoRegression,
			"load.seconds.attempts: worse; load.seconds.p50_ms: worse; load.seconds.p99_ms: worse"},
		"the same, tolerated less": {loaded(noisy(1, 60, 10)...), loaded(noisy(2, 60, 11.5)...), 0.05, results.Regression,
			"load.seconds.attempts: regression; load.seconds.p50_ms: regression; load.seconds.p99_ms: regression"},
		"too short": {loaded(noisy(1, 29, 10)...), loaded(noisy(2, 60, 20)...), 0.1, results.NoRegression,
			"load.seconds.attempts: too few samples; load.seconds.p50_ms: too few samples; load.seconds.p90_ms: too few samples; load.seconds.p99_ms: too few samples"},
		"seconds that depend on each other": {loaded(slow(10)...), loaded(slow(20)...), 0.1, results.NoRegression,
			"load.seconds.attempts: too few samples; load.seconds.p50_ms: too few samples; load.seconds.p90_ms: too few samples; load.seconds.p99_ms: too few samples"},
	} {
		b := one(t, []results.Run{c.old}, []results.Run{c.new}, Options{Tolerance: c.tolerance})
		if b.Outcome != c.want || outcomes(b) != c.metrics {
			t.Errorf("%s: %s (%s)\n%s", name, b.Outcome, b.Reason, outcomes(b))
		}
	}
}

// The effect is said as it is: twice is about 2, with 2 inside its interval.
func TestTheRatioIsTheEffect(t *testing.T) {
	b := one(t, []results.Run{loaded(noisy(1, 30, 10)...)}, []results.Run{loaded(noisy(2, 30, 20)...)}, Options{})
	for _, m := range b.Metrics {
		want := 2.0
		if m.Field == "load.seconds.attempts" {
			want = 0.5
		}
		if *m.Ratio < want*0.95 || *m.Ratio > want*1.05 || *m.RatioLow > want || *m.RatioHigh < want || m.Samples != "blocks of 3 s" || m.OldN != 10 {
			t.Errorf("%s: %v (%v to %v) over %d %s", m.Field, *m.Ratio, *m.RatioLow, *m.RatioHigh, m.OldN, m.Samples)
		}
	}
}

// Seconds in which nothing was answered have no percentile, and are not taken for fast ones. Where that is so of many, those that
// have one are a choice of the fast ones, and stand for nothing.
func TestSecondsWithoutAnswers(t *testing.T) {
	stalled := func(seconds int) results.Baseline {
		r := loaded(noisy(2, 30, 10)...)
		for i := 10; i < 10+seconds; i++ {
			r.Load.Seconds[i].Attempts, r.Load.Seconds[i].Percentiles = 0, results.Percentiles{}
		}
		return one(t, []results.Run{loaded(noisy(1, 30, 10)...)}, []results.Run{r}, Options{})
	}
	if m := stalled(4).Metrics[2]; m.Outcome != results.NoDifference || *m.NewMedian < 9 {
		t.Errorf("%+v", m)
	}
	b := stalled(8)
	if outcomes(b) != "load.seconds.attempts: too few samples; load.seconds.p50_ms: too few samples; load.seconds.p90_ms: too few samples; load.seconds.p99_ms: too few samples" ||
		!strings.HasPrefix(b.Metrics[3].Reason, "8 of 60 seconds have too few attempts") || b.Metrics[3].NewMedian != nil {
		t.Errorf("%+v", b.Metrics)
	}
}

// Where there are too few attempts a second for a p99, the p90 is the next best.
func TestP90StandsInForP99(t *testing.T) {
	few := func(seed uint64, level float64) results.Run {
		r := loaded(noisy(seed, 30, level)...)
		for i := range r.Load.Seconds {
			p := &r.Load.Seconds[i].Percentiles
			p.P90MS, p.P99MS = p.P99MS, nil
		}
		return r
	}
	b := one(t, []results.Run{few(1, 10)}, []results.Run{few(2, 20)}, Options{})
	if outcomes(b) != "load.seconds.attempts: regression; load.seconds.p50_ms: regression; load.seconds.p90_ms: regression; load.seconds.p99_ms: too few samples" {
		t.Error(outcomes(b))
	}
}

// Where there are enough runs, each is one sample: seconds of one run say nothing of the next.
func TestRunsAreBetterSamplesThanSeconds(t *testing.T) {
	var old, new []results.Run
	for i := range 6 {
		r := loaded(noisy(uint64(i), 10, 10)...)
		r.StartedAt = time.Unix(int64(i), 0)
		old = append(old, r)
		new = append(new, loaded(noisy(uint64(i+10), 10, 20)...))
	}
	b := one(t, old, new, Options{Tolerance: 0.1})
	if b.Outcome != results.Regression || b.OldRuns != 6 || b.NewRuns != 6 || b.Metrics[0].Field != "load.attempts_per_second" || b.Metrics[0].Samples != "runs" {
		t.Errorf("%+v", b)
	}
}

func TestRaces(t *testing.T) {
	ten := func(level int) (rounds []int) {
		for i := range 10 {
			rounds = append(rounds, level+i%3)
		}
		return rounds
	}
	violated := func(r results.Run, expected results.Verdict, exit int) results.Run {
		r.Verdict, r.Expected, r.ExitCode = results.Violated, expected, exit
		return r
	}
	several := func(p99 float64) (runs []results.Run) {
		for i := range 5 {
			runs = append(runs, raced(p99+float64(i), 0))
		}
		return runs
	}
	for name, c := range map[string]struct {
		old, new []results.Run
		want     results.BaselineOutcome
		metrics  string
	}{
		"one run each": {[]results.Run{raced(50, 0)}, []results.Run{raced(500, 0)}, results.NoRegression,
			"latency.p50_ms: too few samples; latency.p99_ms: too few samples; rounds.duplicate_captures: too few samples"},
		"several runs": {several(50), several(100), results.Regression,
			"latency.p50_ms: regression; latency.p99_ms: regression; rounds.duplicate_captures: no difference"},
		"faster": {several(100), several(50), results.NoRegression,
			"latency.p50_ms: better; latency.p99_ms: better; rounds.duplicate_captures: no difference"},
		"charges twice more often, and is not to": {[]results.Run{violated(raced(50, ten(10)...), results.Held, 1)}, []results.Run{violated(raced(50, ten(20)...), results.Held, 1)},
			results.Regression, "latency.p50_ms: too few samples; latency.p99_ms: too few samples; rounds.duplicate_captures: regression"},
		"a bad example that is worse": {[]results.Run{violated(raced(50, ten(10)...), results.Violated, 0)}, []results.Run{violated(raced(50, ten(20)...), results.Violated, 0)},
			results.NoRegression, "latency.p50_ms: too few samples; latency.p99_ms: too few samples; rounds.duplicate_captures: worse"},
	} {
		b := one(t, c.old, c.new, Options{Tolerance: 0.1})
		if b.Outcome != c.want || outcomes(b) != c.metrics {
			t.Errorf("%s: %s (%s)\n%s", name, b.Outcome, b.Reason, outcomes(b))
		}
	}
}

// What is one word or one count takes no statistics: a change to the worse is a regression, one to the better is said.
func TestChanges(t *testing.T) {
	with := func(change func(*results.Run)) results.Run {
		r := raced(50, 0)
		change(&r)
		return r
	}
	come := func(v, expected results.Verdict, exit int) results.Run {
		return with(func(r *results.Run) { r.Verdict, r.Expected, r.ExitCode = v, expected, exit })
	}
	held, unsure, broken := come(results.Held, results.Held, 0), come(results.Inconclusive, results.Held, 4), come(results.Violated, results.Held, 1)
	for name, c := range map[string]struct {
		old, new results.Run
		want     string
	}{
		"held still":           {held, held, ""},
		"broken":               {held, broken, "verdict held violated true, exit_code 0 1 true"},
		"undecided":            {held, unsure, "verdict held inconclusive true, exit_code 0 4 true"},
		"mended":               {broken, held, "verdict violated held false, exit_code 1 0 false"},
		"decided, to the good": {unsure, held, "verdict inconclusive held false, exit_code 4 0 false"},
		"decided, to the bad":  {unsure, broken, "verdict inconclusive violated true, exit_code 4 1 true"},
		"a bad example that is caught no more": {come(results.Violated, results.Violated, 0), come(results.Inconclusive, results.Violated, 4),
			"verdict violated inconclusive false, exit_code 0 4 true"},
		"a bad example that is caught at last": {come(results.Inconclusive, results.Violated, 4), come(results.Violated, results.Violated, 0),
			"verdict inconclusive violated false, exit_code 4 0 false"},
		"a claim given up": {held, come(results.Violated, results.Violated, 0), "verdict held violated true"},
		"a first duplicate, where it is expected": {come(results.Violated, results.Violated, 0), with(func(r *results.Run) {
			r.Verdict, r.Expected, r.Counts.DuplicateCaptures = results.Violated, results.Violated, 3
		}), "counts.duplicate_captures 0 3 true"},
		"more duplicates":                {with(func(r *results.Run) { r.Counts.DuplicateCaptures = 1 }), with(func(r *results.Run) { r.Counts.DuplicateCaptures = 3 }), ""},
		"a gate that failed is no claim": {held, with(func(r *results.Run) { r.ExitCode, r.ClaimExitCode = 1, ptr(0) }), ""},
	} {
		b := one(t, []results.Run{c.old}, []results.Run{c.new}, Options{})
		var got []string
		regression := false
		for _, ch := range b.Changes {
			got = append(got, fmt.Sprintf("%s %s %s %v", ch.Field, ch.Old, ch.New, ch.Regression))
			regression = regression || ch.Regression
		}
		if strings.Join(got, ", ") != c.want || (b.Outcome == results.Regression) != regression {
			t.Errorf("%s: %s (%s)", name, strings.Join(got, ", "), b.Outcome)
		}
	}
}

// One bad run of several is enough.
func TestTheWorstOfSeveralRunsCounts(t *testing.T) {
	bad := raced(50, 1)
	bad.Verdict, bad.ExitCode = results.Violated, 1
	b := one(t, []results.Run{raced(50, 0), raced(50, 0)}, []results.Run{raced(50, 0), bad, raced(50, 0)}, Options{})
	if b.Outcome != results.Regression || len(b.Changes) != 3 {
		t.Errorf("%+v", b)
	}
}

// What shapes the numbers is named and nothing compared, unless that is asked for; the rest is named.
func TestOnlyLikeIsCompared(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*results.Run)
		field  string
		shapes bool
	}{
		"attempts":            {func(r *results.Run) { r.Settings.AttemptsPerIntent = 8 }, "settings.attempts_per_intent", true},
		"pool":                {func(r *results.Run) { r.Settings.Pool = 8 }, "settings.pool", true},
		"the acquirer":        {func(r *results.Run) { r.Settings.AcquirerSettings = &results.AcquirerSettings{AcquirerLatency: "5ms"} }, "settings.acquirer_latency", true},
		"effect":              {func(r *results.Run) { r.Settings.Effect = "email" }, "settings.effect", true},
		"schema":              {func(r *results.Run) { r.Settings.Schema = "other.sql" }, "settings.schema", true},
		"durability":          {func(r *results.Run) { r.Server.Settings = map[string]string{"fsync": "off"} }, "server.settings.fsync", true},
		"not durable":         {func(r *results.Run) { r.Server.NotDurable = "tmpfs" }, "server.not_durable", true},
		"major version":       {func(r *results.Run) { r.Server.Version = "17.2" }, majorVersion, true},
		"processors":          {func(r *results.Run) { r.Tool.CPUs = 8 }, "tool.cpus", true},
		"minor version":       {func(r *results.Run) { r.Server.Version = "15.19" }, "server.version", false},
		"where the server is": {func(r *results.Run) { r.Server.Source = "--dsn" }, "server.source", false},
		"release":             {func(r *results.Run) { r.Tool.Version = "0.2.0" }, "tool.version", false},
		"chance":              {func(r *results.Run) { r.Seed = 2 }, "seed", false},
		"more rounds":         {func(r *results.Run) { r.Settings.Rounds = 9 }, "settings.rounds", false},
	} {
		changed := raced(50, 0)
		c.change(&changed)
		changed.Verdict = results.Violated // which counts only where it can be compared
		for _, force := range []bool{false, true} {
			b := one(t, []results.Run{raced(50, 0)}, []results.Run{changed}, Options{Force: force})
			if !slices.ContainsFunc(b.Differences, func(d results.Difference) bool { return d.Field == c.field && d.Shapes == c.shapes && d.Old != d.New }) {
				t.Errorf("%s: %+v", name, b.Differences)
			}
			want := results.Regression
			if c.shapes && !force {
				want = results.NotCompared
			}
			if b.Outcome != want || b.Forced != (c.shapes && force) || (b.Reason != "") != (want == results.NotCompared) {
				t.Errorf("%s, forced %v: %s (%s)", name, force, b.Outcome, b.Reason)
			}
			if want == results.NotCompared && (!strings.Contains(b.Reason, c.field) || len(b.Metrics)+len(b.Changes) > 0) {
				t.Errorf("%s: %+v", name, b)
			}
		}
	}
}

// A document that names no effect is of captures, whatever it is compared with.
func TestTheEffectOfOldDocuments(t *testing.T) {
	for _, engine := range []string{"race", "retry"} {
		captures, emails := raced(50, 0), raced(50, 0)
		captures.Engine, emails.Engine = engine, engine
		emails.Settings.Effect = "email"
		for _, c := range []struct {
			old, new results.Run
			reason   string
		}{
			{captures, captures, ""}, {emails, emails, ""},
			{captures, emails, "what shapes the numbers differs: settings.effect was capture and is email"},
			{emails, captures, "what shapes the numbers differs: settings.effect was email and is capture"},
		} {
			if b := one(t, []results.Run{c.old}, []results.Run{c.new}, Options{}); b.Reason != c.reason {
				t.Errorf("%s: %q, want %q", engine, b.Reason, c.reason)
			}
		}
	}
	search := results.Run{Engine: "explore", Status: results.Complete}
	b := one(t, []results.Run{search}, []results.Run{search}, Options{})
	c, err := circumstancesOf(search)
	if _, has := c.shaping["settings.effect"]; err != nil || has || len(b.Differences) > 0 {
		t.Errorf("a run without the setting has %v, %v, %+v", c, err, b.Differences)
	}
}

// A sweep has the same strategy under many settings: each is compared with its like, in whatever order they stand.
func TestEachSettingWithItsLike(t *testing.T) {
	sized := func(pool, duplicates int) results.Run {
		r := raced(50, duplicates)
		r.Settings.Pool = pool
		return r
	}
	other := raced(50, 0)
	other.Strategy = "merge"
	level := raced(50, 0)
	level.Server.Isolation = "serializable"
	groups, gone, err := Runs([]results.Run{sized(1, 0), sized(2, 0), sized(4, 0), other}, []results.Run{sized(4, 0), level, sized(2, 5), sized(3, 0)}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, g := range groups {
		got = append(got, fmt.Sprintf("%v %s", g.Runs, g.Baseline.Outcome))
	}
	if s := strings.Join(got, ", "); s != "[0] no regression, [1] not compared, [2] regression, [3] not compared" {
		t.Error(s)
	}
	if r := groups[1].Baseline.Reason; r != "there is no earlier run of it" {
		t.Error(r)
	}
	if len(gone) != 1 || gone[0].Strategy != "merge" { // pool 1 is what pool 3 came nearest to
		t.Errorf("%v", gone)
	}
}

func TestHalfARunIsNoSample(t *testing.T) {
	half := raced(50, 0)
	half.Status = results.Aborted
	if b := one(t, []results.Run{half}, []results.Run{raced(50, 0)}, Options{}); b.Outcome != results.NotCompared || b.Reason != "the earlier run did not come to its end" {
		t.Errorf("%+v", b)
	}
	if b := one(t, []results.Run{raced(50, 0)}, []results.Run{half}, Options{}); b.Outcome != results.NotCompared || b.Reason != "the run did not come to its end" {
		t.Errorf("%+v", b)
	}
	if b := one(t, []results.Run{half, raced(50, 0)}, []results.Run{raced(50, 0)}, Options{}); b.Outcome != results.NoRegression || b.OldRuns != 1 {
		t.Errorf("%+v", b)
	}
}

// A run compared with itself is never a regression, whatever it is.
func TestARunIsNoRegressionOfItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := raced(rapid.Float64Range(1, 1000).Draw(t, "p99"), rapid.SliceOfN(rapid.IntRange(0, 50), 1, 30).Draw(t, "rounds")...)
		if rapid.Bool().Draw(t, "load") {
			r = loaded(rapid.SliceOfN(rapid.Float64Range(1, 1000), 1, 90).Draw(t, "seconds")...)
		}
		r.Verdict = rapid.SampledFrom([]results.Verdict{results.Held, results.Violated, results.Inconclusive}).Draw(t, "verdict")
		r.ExitCode = rapid.SampledFrom([]int{0, 1, 4}).Draw(t, "exit")
		runs := slices.Repeat([]results.Run{r}, rapid.IntRange(1, 6).Draw(t, "times"))
		b := one(t, runs, runs, Options{Tolerance: 0})
		if b.Outcome != results.NoRegression || len(b.Changes)+len(b.Differences) > 0 {
			t.Fatalf("%+v", b)
		}
		for _, m := range b.Metrics {
			if m.Outcome != results.NoDifference && m.Outcome != results.TooFew {
				t.Fatalf("%+v", m)
			}
		}
	})
}
