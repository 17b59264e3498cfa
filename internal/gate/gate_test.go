package gate

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"idemlab/results"
)

var (
	charge  = Kind{Engine: "race", Acquirer: true, Followups: true, Answers: []string{"charged", "replayed", "failed"}}
	debit   = Kind{Engine: "race", Measures: true, Answers: []string{"done", "failed"}}
	search  = Kind{Engine: "explore", Acquirer: true}
	loading = Kind{Engine: "load", Acquirer: true, Answers: []string{"charged", "failed"}}
)

// The schema is what fields are looked up in, and the structs are what is written: what stands in one stands in the other.
func TestFieldsAreThoseOfTheRun(t *testing.T) {
	all, err := fields()
	if err != nil {
		t.Fatal(err)
	}
	var schema []string
	for _, f := range all {
		schema = append(schema, f.path)
	}
	var structs []string
	leaves(reflect.TypeFor[results.Run](), "", func(path string) { structs = append(structs, path) })
	slices.Sort(schema)
	slices.Sort(structs)
	if !slices.Equal(schema, structs) {
		t.Errorf("schema:\n%s\nstructs:\n%s", strings.Join(schema, "\n"), strings.Join(structs, "\n"))
	}
	if len(all) < 100 {
		t.Errorf("only %d fields", len(all))
	}
}

// leaves walks a struct by its JSON names, through what is embedded.
func leaves(t reflect.Type, path string, leaf func(string)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() == "time" {
		leaf(path)
		return
	}
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			leaves(f.Type, path, leaf)
			continue
		}
		leaves(f.Type, strings.TrimPrefix(path+"."+name, "."), leaf)
	}
}

// What the document's structs say of scenarios without an acquirer is what gates go by.
func TestAcquirersFields(t *testing.T) {
	for prefix, part := range map[string]reflect.Type{
		"counts": reflect.TypeFor[results.AcquirerCounts](), "settings": reflect.TypeFor[results.AcquirerSettings](),
		"load.settings": reflect.TypeFor[results.AcquirerSettings](), "control": reflect.TypeFor[results.ForcedCharge](),
	} {
		leaves(part, prefix, func(path string) {
			if !slices.Contains(acquirers(), path) {
				t.Errorf("%s is not among them", path)
			}
			if debit.has(path) || prefix == "counts" && !charge.has(path) {
				t.Errorf("%s: without an acquirer %v, with one %v", path, debit.has(path), charge.has(path))
			}
		})
	}
	all, err := fields()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range acquirers() {
		if !slices.ContainsFunc(all, func(f field) bool { return f.path == path }) {
			t.Errorf("%s is no field", path)
		}
	}
}

func TestParse(t *testing.T) {
	for expr, kinds := range map[string][]Kind{
		"latency.p99_ms>250":                    {charge},
		"  latency.p99_ms  >=  2.5e2 ":          {charge},
		"counts.duplicate_captures>0":           {charge},
		"counts.measures.unaccounted_cents!=0":  {debit},
		"counts.attempts_given_up>0":            {debit},
		"waits.lock.p99_ms>20":                  {charge},
		"waits.lock.client.p99_ms > 20":         {charge},
		"load.attempts_per_second<500":          {loading},
		"load.response.p999_ms>1000":            {loading},
		"load.settings.acquirer_latency!='5ms'": {loading},
		"answers.failed>0":                      {charge},
		"sqlstates.40P01>0":                     {charge},
		"verdict==violated":                     {charge},
		"verdict != 'held'":                     {charge},
		"server.version==15.18":                 {charge},
		"server.settings.fsync==off":            {charge},
		"control.double_charged!=true":          {charge},
		"explore.violating>0":                   {search},
		"explore.likely.double_charged>0":       {search},
		"settings.effect==capture":              {charge},
		"settings.effect!=email":                {{Engine: "retry", Acquirer: true}},
		"followups.refused<20":                  {charge, search}, // one of them is enough
		"duration_ms>-1":                        {charge},
		"recovery.left.orphans>0":               {{Engine: "reconcile", Acquirer: true}},
		"recovery.left.cents > 0":               {{Engine: "recover", Acquirer: true}},
		"recovery.settings.lease_ms<100":        {{Engine: "recover", Acquirer: true}},
		"counts.orphans>0":                      {{Engine: "recover", Acquirer: true}},
		"counts.intents_double_charged>0":       {{Engine: "expiry", Acquirer: true}},
		"expiry.deleted==0":                     {{Engine: "expiry", Acquirer: true}},
		"counts.captured_cents>1":               {{Engine: "stored", Acquirer: true}},
		"neighbours.wrong>0":                    {{Engine: "neighbours", Acquirer: true}},
		"control.anomaly!=missing_charge":       {{Engine: "race", Acquirer: true, Harm: true}},
	} {
		if g, err := on(t, kinds...).Parse(expr); err != nil || g.Expr() != strings.TrimSpace(expr) {
			t.Errorf("%s: %q, %v", expr, g.Expr(), err)
		}
	}
	for _, c := range []struct {
		expr  string
		kinds []Kind
		want  string // in the message
	}{
		{"latency.p99_ms", []Kind{charge}, "the shell takes > for itself"},
		{"", []Kind{charge}, "compares with nothing"},
		{"latency.p99_ms=250", []Kind{charge}, "one of > >= < <= == !="},
		{"latency.p99_ms=>250", []Kind{charge}, "one of > >= < <= == !="},
		{"latency.p99_ms>", []Kind{charge}, "say what latency.p99_ms is compared with"},
		{"latency.p99_ms>250ms", []Kind{charge}, "write digits alone"},
		{"latency.p99_ms>NaN", []Kind{charge}, "a number"},
		{"latency.p99_ms>Inf", []Kind{charge}, "a number"},
		{"latency.p99_ms>1e999", []Kind{charge}, "a number"},
		{"latency.p99>250", []Kind{charge}, "is it latency.p99_ms"},
		{"latncy.p99_ms>250", []Kind{charge}, "is it latency.p99_ms"},
		{"p99_ms>250", []Kind{charge}, "latency.p99_ms"},
		{"duplicate_captures>0", []Kind{charge}, "is it counts.duplicate_captures?"},
		{"nonsense>0", []Kind{charge}, "  latency: max_ms, n, p50_ms"},
		{"latency>250", []Kind{charge}, "say which of max_ms, n, p50_ms"},
		{"waits.lock>1", []Kind{charge}, "say which of client.count"},
		{"answers>0", []Kind{charge}, "answers.failed"},
		{"answers.>0", []Kind{charge}, "answers.failed"},
		{"answers.failled>0", []Kind{charge}, `no attempt is answered "failled" here; the answers are charged, replayed, failed`},
		{"answers.charged>0", []Kind{debit}, `the answers are done, failed`},
		{"sqlstates.4001>0", []Kind{charge}, "no SQLSTATE"},
		{"rounds>0", []Kind{charge}, "rounds is a list"},
		{"load.seconds.p99_ms>0", []Kind{loading}, "load.seconds is a list"},
		{"anomalies==0", []Kind{charge}, "anomalies is a list"},
		{"load.attempts_per_second<500", []Kind{charge}, "a run of race has no load.attempts_per_second here"},
		{"latency.p99_ms>250", []Kind{search}, "a run of explore has no latency.p99_ms"},
		{"counts.duplicate_captures>0", []Kind{debit}, "has no counts.duplicate_captures"},
		{"counts.measures.x>0", []Kind{charge}, "has no counts.measures.x"},
		{"counts.attempts_given_up>0", []Kind{loading}, "a run of load has no counts.attempts_given_up"},
		{"verdict==violted", []Kind{charge}, "one of held, violated, inconclusive"},
		{"settings.effect==pigeon", []Kind{charge}, "one of capture, email"},
		{"settings.effect==capture", []Kind{debit}, "has no settings.effect"},
		{"settings.effect==capture", []Kind{search}, "has no settings.effect"},
		{"verdict>held", []Kind{charge}, "which == and != compare"},
		{"server.version>=15", []Kind{charge}, "is text"},
		{"control.ran>0", []Kind{charge}, "true or false"},
		{"control.ran==yes", []Kind{charge}, "true or false"},
		{"sqlstates.40001>0", []Kind{{Engine: "recover", Acquirer: true}}, "a run of recover has no sqlstates.40001"},
		{"recovery.left.orphans>0", []Kind{{Engine: "expiry", Acquirer: true}}, "a run of expiry has no recovery.left.orphans"},
		{"counts.captures>0", []Kind{{Engine: "reconcile", Acquirer: true}}, "a run of reconcile has no counts.captures"},
		{"control.captures>2", []Kind{{Engine: "race", Acquirer: true, Harm: true}}, "has no control.captures"},
		{"control.anomaly!=missing_charge", []Kind{charge}, "has no control.anomaly"},
		{"strategy==insert-first", []Kind{charge}, "it names the run"},
		{"exit_code>0", []Kind{charge}, "follows from the gates"},
		{"gates.outcome==failed", []Kind{charge}, "holds the gates"},
		{"status==aborted", []Kind{charge}, "did not come to its end"},
	} {
		if _, err := on(t, c.kinds...).Parse(c.expr); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v\nwant: %s", c.expr, err, c.want)
		}
	}
}

// on are the fields of runs of these kinds.
func on(t interface {
	Helper()
	Fatal(...any)
}, kinds ...Kind) Fields {
	t.Helper()
	f, err := For(kinds)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func ptr[T any](v T) *T { return &v }

func raced() results.Run {
	return results.Run{
		Engine: "race", Strategy: "insert-first", Status: results.Complete, Verdict: results.Held,
		Server:    results.Server{Version: "15.18", Settings: map[string]string{"fsync": "off"}},
		Control:   &results.Control{Ran: true, ForcedCharge: &results.ForcedCharge{DoubleCharged: true}},
		Counts:    &results.Counts{AcquirerCounts: &results.AcquirerCounts{DuplicateCaptures: 3, Rows: ptr(0)}},
		Answers:   map[string]int{"charged": 20, "failed": 0},
		SQLStates: map[string]int{"40P01": 2},
		Latency:   &results.Latency{N: 40, Percentiles: results.Percentiles{P99MS: ptr(312.4)}},
		Waits:     &results.Waits{Pool: results.Distribution{Count: 3, Percentiles: results.Percentiles{P50MS: ptr(1.5)}}},
	}
}

func TestJudge(t *testing.T) {
	fields := on(t, charge)
	for expr, want := range map[string]string{
		"latency.p99_ms>250":           "failed 312.4",
		"latency.p99_ms>312.4":         "passed 312.4",
		"latency.p99_ms>=312.4":        "failed 312.4",
		"latency.p99_ms<312.5":         "failed 312.4",
		"latency.p99_ms<=312.3":        "passed 312.4",
		"latency.n!=50":                "failed 40",
		"latency.p50_ms>1":             "not measured: latency.n is 40, which is too few for latency.p50_ms",
		"counts.duplicate_captures==3": "failed 3",
		"counts.rows>0":                "passed 0", // measured, and zero
		"counts.orphans>0":             "not measured: this run has no counts.orphans",
		"waits.lock.p99_ms>20":         "not measured: waits.lock.count is 0, so there is no waits.lock.p99_ms",
		"waits.lock.client.p99_ms>20":  "not measured: waits.lock.count is 0, so there is no waits.lock.client",
		"waits.pool.p50_ms>1":          "failed 1.5",
		"followups.refused<20":         "not measured: this run has no followups",
		"answers.charged>0":            "failed 20",
		"answers.replayed>0":           "passed 0", // the map says all that was counted
		"sqlstates.40001>0":            "passed 0",
		"sqlstates.40P01>1":            "failed 2",
		"server.version==15.18":        "failed 15.18",
		"server.settings.fsync==off":   "failed off",
		"server.settings.wal==off":     "not measured: this run has no server.settings.wal",
		"control.double_charged!=true": "passed true",
		"verdict!=held":                "passed held",
	} {
		g, err := fields.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		judged, err := Judge([]Gate{g}, raced(), charge)
		if err != nil || len(judged) != 1 {
			t.Fatalf("%s: %v, %v", expr, judged, err)
		}
		j := judged[0]
		got := fmt.Sprintf("%s %v", j.Outcome, j.Value)
		if j.Value == nil {
			got = fmt.Sprintf("%s: %s", j.Outcome, j.Reason)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
}

// Counts that the run does not have at all are not zero.
func TestAbsentCountsAreNotZero(t *testing.T) {
	run := raced()
	run.Answers, run.SQLStates, run.Counts.Measures = nil, nil, map[string]int64{"retries": 1}
	kind := charge
	kind.Measures = true
	for _, expr := range []string{"answers.failed>0", "sqlstates.40001>0", "counts.measures.retrys>0"} {
		g, err := on(t, kind).Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		if judged, err := Judge([]Gate{g}, run, kind); err != nil || judged[0].Outcome != results.GateNotMeasured {
			t.Errorf("%s: %v, %v", expr, judged, err)
		}
	}
}

func TestNoGateIsJudgedOnHalfARun(t *testing.T) {
	g, err := on(t, charge).Parse("latency.p99_ms>250")
	if err != nil {
		t.Fatal(err)
	}
	for _, status := range []results.Status{results.Aborted, results.Errored} {
		run := raced()
		run.Status = status
		judged, err := Judge([]Gate{g}, run, charge)
		if err != nil || judged[0].Outcome != results.GateNotMeasured || judged[0].Value != nil {
			t.Errorf("%s: %v, %v", status, judged, err)
		}
	}
}

// A gate is for the runs that can have its field, and for no other: in a grid, searches have no latency.
func TestGateIsForRunsOfItsKind(t *testing.T) {
	g, err := on(t, search, charge).Parse("latency.p99_ms>250")
	if err != nil {
		t.Fatal(err)
	}
	if judged, err := Judge([]Gate{g}, results.Run{Engine: "explore", Status: results.Complete}, search); err != nil || len(judged) != 0 {
		t.Errorf("%v, %v", judged, err)
	}
}

// Of the six operators exactly three are true of any two numbers, and each is the opposite of its opposite.
func TestOperatorsDivideNumbers(t *testing.T) {
	opposite := map[string]string{">": "<=", ">=": "<", "==": "!="}
	fields := on(t, charge)
	fails := func(t *rapid.T, op string, v, limit float64) bool {
		g, err := fields.Parse(fmt.Sprintf("latency.p99_ms%s%v", op, limit))
		if err != nil {
			t.Fatal(err)
		}
		return g.fails(v)
	}
	rapid.Check(t, func(t *rapid.T) {
		v, limit := rapid.Float64Range(-5, 5).Draw(t, "value"), rapid.Float64Range(-5, 5).Draw(t, "limit")
		if rapid.Bool().Draw(t, "equal") {
			v = limit
		}
		for op, not := range opposite {
			a, b := fails(t, op, v, limit), fails(t, not, v, limit)
			if a == b {
				t.Fatalf("%v %s %v: %v, and %s: %v", v, op, limit, a, not, b)
			}
		}
		if fails(t, ">", v, limit) != (v > limit) || fails(t, "<", v, limit) != (v < limit) || fails(t, "==", v, limit) != (v == limit) {
			t.Fatalf("%v and %v", v, limit)
		}
	})
}

// Every value of every recorded run can be found, and is what the run says.
func TestGatesOnRecordedRuns(t *testing.T) {
	files, err := filepath.Glob("../../results/reference/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reference runs: %v", err)
	}
	looked := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := results.Read(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		var raw struct{ Runs []map[string]any }
		if err := json.Unmarshal(text, &raw); err != nil {
			t.Fatal(err)
		}
		for i, run := range d.Runs {
			kind := Kind{Engine: run.Engine, Followups: run.Followups != nil}
			if c := run.Counts; c != nil {
				kind.Acquirer, kind.Measures = c.AcquirerCounts != nil, c.Measures != nil
			}
			fields := on(t, kind)
			var gates []Gate
			for path, want := range numbers("", raw.Runs[i]) {
				g, err := fields.Parse(fmt.Sprintf("%s!=%v", path, want))
				if top, _, _ := strings.Cut(path, "."); err != nil && barred()[top] == "" {
					t.Errorf("%s: %v", file, err)
				}
				if err == nil {
					gates = append(gates, g)
				}
			}
			judged, err := Judge(gates, run, kind)
			if err != nil || len(judged) != len(gates) {
				t.Fatalf("%s: %d of %d gates, %v", file, len(judged), len(gates), err)
			}
			for _, j := range judged {
				if j.Outcome != results.GatePassed {
					t.Errorf("%s: %+v", file, j)
				}
			}
			looked += len(judged)
		}
	}
	if looked < 1000 {
		t.Errorf("only %d values were looked at", looked)
	}
}

func numbers(path string, v any) map[string]float64 {
	found := map[string]float64{}
	switch v := v.(type) {
	case float64:
		found[path] = v
	case map[string]any:
		for name, inner := range v {
			for p, n := range numbers(strings.TrimPrefix(path+"."+name, "."), inner) {
				found[p] = n
			}
		}
	}
	return found
}

func TestNear(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"", "abc", 3}, {"kitten", "sitting", 3}} {
		if got := distance(c.a, c.b); got != c.want || distance(c.b, c.a) != c.want {
			t.Errorf("%s, %s: %d", c.a, c.b, got)
		}
	}
	if paths := on(t, charge).Paths(); !slices.Contains(paths, "latency.p99_ms") || !slices.Contains(paths, "answers.") ||
		slices.Contains(paths, "rounds") || slices.Contains(paths, "load.attempts") {
		t.Error(paths)
	}
}
