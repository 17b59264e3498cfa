package results

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"
)

func TestPercentilesAreMeasuredValues(t *testing.T) {
	if p := PercentilesOf(nil); p.P50MS != nil || p.MaxMS != nil {
		t.Error("percentiles of nothing")
	}
	rapid.Check(t, func(t *rapid.T) {
		ms := rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 200).Draw(t, "ms")
		var samples []time.Duration
		in := map[float64]bool{}
		for _, v := range ms {
			samples = append(samples, time.Duration(v)*time.Millisecond)
			in[float64(v)] = true
		}
		p := PercentilesOf(samples)
		for _, v := range []*float64{p.P50MS, p.P90MS, p.P99MS, p.MaxMS} {
			if !in[*v] {
				t.Fatalf("%v was not measured", *v)
			}
		}
		if *p.P50MS > *p.P90MS || *p.P90MS > *p.P99MS || *p.P99MS > *p.MaxMS {
			t.Fatal("out of order")
		}
	})
	if p := PercentilesOf([]time.Duration{1e6, 2e6, 3e6, 4e6}); *p.P50MS != 2 || *p.P99MS != 4 {
		t.Errorf("nearest rank of 1..4: p50 %v p99 %v", *p.P50MS, *p.P99MS)
	}
}

func TestWorst(t *testing.T) {
	run := func(v Verdict) Run { return Run{Verdict: v} }
	for _, c := range []struct {
		runs []Run
		want Verdict
	}{
		{nil, Inconclusive},
		{[]Run{run(Held)}, Held},
		{[]Run{run(Held), run(Inconclusive)}, Inconclusive},
		{[]Run{run(Inconclusive), run(Violated), run(Held)}, Violated},
	} {
		if got := Worst(c.runs); got != c.want {
			t.Errorf("worst of %v: %s", c.runs, got)
		}
	}
}

func TestSaveLeavesWholeFilesOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	d := Document{Format: Format, Verdict: Inconclusive, Runs: []Run{}}
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	seen := map[string]bool{}
	for range 3 { // in the same second
		path, err := d.Save(dir, "race", at)
		if err != nil {
			t.Fatal(err)
		}
		seen[path] = true
		if !strings.HasPrefix(filepath.Base(path), "race-20260102T150405Z-") {
			t.Errorf("name %s", path)
		}
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 3 || len(seen) != 3 {
		t.Fatalf("%d files, %d names, %v", len(files), len(seen), err)
	}
	file := filepath.Join(dir, "a-file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Save(file, "race", at); err == nil {
		t.Error("kept a document in a file's place")
	}
}

// Where keeping fails, before or after the document was written, nothing of it stays behind.
func TestSaveThatFailsLeavesNothing(t *testing.T) {
	whole := Document{Format: Format, Verdict: Held, Runs: []Run{}}
	notJSON := whole
	notJSON.Runs = []Run{{DurationMS: math.NaN()}}
	for name, c := range map[string]struct {
		d      Document
		engine string
	}{
		"it cannot be written":  {notJSON, "race"},
		"it cannot be renamed":  {whole, filepath.Join("no", "such", "folder", "race")},
		"neither of them works": {notJSON, filepath.Join("no", "such", "folder", "race")},
	} {
		dir := t.TempDir()
		if path, err := c.d.Save(dir, c.engine, time.Now()); err == nil || path != "" {
			t.Errorf("%s: kept as %q, %v", name, path, err)
		}
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 0 {
			t.Errorf("%s: %v is left (%v)", name, files, err)
		}
	}
}

func TestReadRefusesOtherFormats(t *testing.T) {
	var b bytes.Buffer
	if err := (Document{Format: Format, Verdict: Held, Runs: []Run{}}).Write(&b); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(&b); err != nil {
		t.Error(err)
	}
	for _, s := range []string{"", "{}", "[]", `{"format":"idemlab.results/v2"}`} {
		if _, err := Read(strings.NewReader(s)); err == nil {
			t.Errorf("read %q", s)
		}
	}
}

// Every recorded run still fits the schema: a change of the document is a change for whoever reads it.
func TestReferenceRunsFitTheSchema(t *testing.T) {
	schema := compile(t)
	files, err := filepath.Glob("reference/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no reference runs: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		d, err := Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		var again bytes.Buffer
		if err := d.Write(&again); err != nil {
			t.Fatal(err)
		}
		if again.String() != string(text) {
			t.Errorf("%s: read and written back it differs", file)
		}
	}
}

func TestSchemaRefusesWhatItDoesNotName(t *testing.T) {
	schema := compile(t)
	for _, text := range []string{
		`{}`,
		`{"format":"idemlab.results/v1","verdict":"held","exit_code":0,"error":null,"runs":[],"extra":1}`,
		`{"format":"idemlab.results/v1","verdict":"safe","exit_code":0,"error":null,"runs":[]}`,
		`{"format":"idemlab.results/v1","verdict":"held","exit_code":"0","error":null,"runs":[]}`,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if schema.Validate(value) == nil {
			t.Errorf("the schema takes %s", text)
		}
	}
}

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", value); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// A sweep whose cells are no runs of the document is refused: reports look them up.
func TestReadRefusesCellsThatAreNoRuns(t *testing.T) {
	for cell, ok := range map[int]bool{0: true, 1: true, 2: false, -1: false} {
		d := Document{Format: Format, Verdict: Held, Runs: []Run{{}, {}}, Sweep: &Sweep{X: Axis{Name: "pool", Values: []string{"1"}}, Cells: []SweepCell{{Run: cell}}}}
		var b bytes.Buffer
		if err := d.Write(&b); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(&b); (err == nil) != ok {
			t.Errorf("cell of run %d: %v", cell, err)
		}
	}
}
