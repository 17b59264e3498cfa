package report

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"
	"unicode/utf8"

	"idemlab/results"
)

// swept is a sweep made by hand: one strategy that is caught in some cells, one that holds where the attempts met.
func swept() results.Document {
	d := results.Document{Format: results.Format, Verdict: results.Violated, Sweep: &results.Sweep{
		Measure: results.IntentsDoubleCharged, Confidence: 0.95, Planned: 8,
		X: results.Axis{Name: "attempts", Values: []string{"2", "50"}}, Y: &results.Axis{Name: "acquirer-latency", Values: []string{"0s", "5ms"}},
	}}
	add := func(strategy, x, y string, found int, v results.Verdict, i *results.Interval) {
		r := results.Run{
			Engine: "race", Scenario: "charge", Strategy: strategy, Status: results.Complete, Seed: 7, Verdict: v, Expected: results.Held,
			Server: results.Server{Version: "15.18", Source: "embedded", Isolation: committed},
			Settings: &results.Settings{AttemptsPerIntent: map[string]int{"2": 2, "50": 50}[x], Intents: 5, Rounds: 10, Instances: 1,
				Pool: map[string]int{"2": 2, "50": 50}[x], AcquirerSettings: &results.AcquirerSettings{AcquirerLatency: y, AcquirerLatencyMS: 5}},
			Counts: &results.Counts{Intents: 50, Attempts: 1000, AcquirerCounts: &results.AcquirerCounts{DuplicateCaptures: 3 * found}},
			Waits:  &results.Waits{Lock: results.LockWaits{Distribution: results.Distribution{Count: 4, TotalMS: 2500}}},
		}
		rate := 1234.5
		if found > 0 {
			r.Expected = results.Violated
			r.Anomalies = []results.Anomaly{{Kind: "orphan"}, {Kind: "double_charge", Judged: true}, {Kind: "double_charge", Judged: true}}
		}
		d.Sweep.Cells = append(d.Sweep.Cells, results.SweepCell{Run: len(d.Runs), X: x, Y: y, Rounds: 10, Intents: 50, Found: found,
			Share: float64(found) / 50, Interval: i, PerSecond: &rate})
		d.Runs = append(d.Runs, r)
	}
	none, all := &results.Interval{High: 0.2589}, &results.Interval{Low: 0.7411, High: 1}
	add("check-then-act", "2", "0s", 0, results.Held, none)
	add("check-then-act", "50", "0s", 12, results.Violated, &results.Interval{Low: 0.101, High: 0.44})
	add("check-then-act", "2", "5ms", 49, results.Violated, &results.Interval{Low: 0.7411, High: 0.9995})
	add("check-then-act", "50", "5ms", 50, results.Violated, all)
	add("insert-first", "2", "0s", 0, results.Inconclusive, nil)
	add("insert-first", "50", "0s", 0, results.Held, none)
	add("insert-first", "2", "5ms", 0, results.Held, none)
	add("insert-first", "50", "5ms", 0, results.Held, none)
	d.Runs[4].Reason, d.Runs[4].ExitCode, d.ExitCode = "the attempts did not overlap", 4, 4
	return d
}

// rowsOf are the lines of the maps in a report, as cells.
func rowsOf(report string) (rows []string) {
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "│") {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "│"), "│")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, strings.Join(cells, ";"))
		}
	}
	return rows
}

// A cell says its share in words and in ink, where the true share lies, and what to doubt about it.
func TestHeatMap(t *testing.T) {
	out := text(t, swept(), Style{Width: 120})
	want := []string{
		`acquirer-latency \ attempts;2;50`, "0s;0%;░░ 24%", ";< 26%;10–44%", "5ms;██ 98%;██ 100%", ";74–100%;> 74%",
		`acquirer-latency \ attempts;2;50`, "0s;0%?;0%", ";undecided;< 26%", "5ms;0%;0%", ";< 26%;< 26%",
	}
	if got := rowsOf(out); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the maps are\n%s\nwant\n%s\nin\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"), out)
	}
	for _, line := range []string{
		"sweep, charge: attempts × acquirer-latency, 8 cells of 10 rounds of 5 intents each; a connection for each attempt; seed 7",
		"PostgreSQL 15.18 (embedded), read committed",
		"check-then-act: share of the intents double-charged, and where the true share lies (95% confidence)",
		"0%: 0 of 50 intents in 10 rounds, so the true share is below 25.9% (95% confidence; rounds are counted).",
		"100%: 50 of 50 intents in 10 rounds, so the true share is above 74.1% (95% confidence; rounds are counted).",
		"? undecided: what was not found there may have gone unseen",
		"check-then-act: violated in 3 of 4 cells, first at attempts=50, acquirer-latency=0s (double_charge), as expected",
		"insert-first: held in 3 of 4 cells; undecided in 1, first at attempts=2, acquirer-latency=0s (the attempts did not overlap), expected held",
	} {
		if !strings.Contains(out, line+"\n") {
			t.Errorf("no line %q in\n%s", line, out)
		}
	}
	for _, sign := range []string{"\n! ", "\n~ "} {
		if strings.Contains(out, sign) {
			t.Errorf("it explains a sign that it does not use: %q", sign)
		}
	}
}

// No map is wider than the terminal, and what a map says a list says too; without signs beyond ASCII, and in colour, the words are
// the same.
func TestMapsFitTheTerminal(t *testing.T) {
	d := swept()
	for width := 20; width <= 160; width += 10 {
		for _, details := range []bool{false, true} {
			out := text(t, d, Style{Width: width, Details: details, Maps: Maps()})
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); strings.ContainsAny(line, "│┌") && n > width {
					t.Errorf("at %d columns: a line of %d", width, n)
				}
			}
			for _, words := range []string{"░░ 24%", "10–44%", "undecided", "1,235/s", "2.50 ms", "none", "0.7"} {
				if !strings.Contains(out, words) {
					t.Errorf("at %d columns no %q:\n%s", width, words, out)
				}
			}
		}
	}
	for _, width := range []int{30, 120} {
		style := Style{Width: width, Details: true, Maps: Maps()}
		plain := text(t, d, style)
		style.Color = true
		if coloured := text(t, d, style); coloured == plain || strip(coloured) != plain {
			t.Errorf("at %d columns colour says more than the words:\n%s", width, coloured)
		}
		style.Color, style.ASCII = false, true
		ascii := text(t, d, style)
		if i := strings.IndexFunc(ascii, func(r rune) bool { return r > 126 }); i >= 0 {
			t.Errorf("at %d columns, in ASCII: %q", width, ascii[i:i+10])
		}
		if !strings.Contains(ascii, ".. 24%") || !strings.Contains(ascii, "10-44%") {
			t.Errorf("at %d columns, in ASCII:\n%s", width, ascii)
		}
	}
}

// The more there is of something, the more ink; none for nothing, and the most for the largest.
func TestShade(t *testing.T) {
	for size, want := range map[float64]string{0: "", 0.001: ".. ", 0.25: ":: ", 0.5: "++ ", 0.74: "++ ", 0.75: "## ", 1: "## ", 7: "## ", 1e308: "## ", -1: ""} {
		if got := shade(size, Style{ASCII: true}); got != want {
			t.Errorf("shade of %v: %q, want %q", size, got, want)
		}
	}
	for share, want := range map[float64]string{0: "0%", 0.001: "<1%", 0.0149: "1%", 0.5: "50%", 0.996: ">99%", 1: "100%"} {
		if got := percent(share); got != want {
			t.Errorf("%v is %s, want %s", share, got, want)
		}
	}
}

// Each way for a cell to be less than measured has its sign, and its word in the list of all cells.
func TestCellsThatAreNotWhole(t *testing.T) {
	d := swept()
	d.Runs[5].Verdict, d.Runs[5].Anomalies = results.Violated, []results.Anomaly{{Kind: "missing_charge", Judged: true}}
	d.Runs[6].Status = results.Aborted
	d.Sweep.Cells[6].Rounds, d.Sweep.Cells[6].Intents, d.Sweep.Cells[6].Interval = 1, 5, nil
	d.Sweep.Cells = d.Sweep.Cells[:7] // the last was never begun
	d.Runs = d.Runs[:7]
	out := text(t, d, Style{Width: 120, Details: true})
	got := strings.Join(rowsOf(out), "\n")
	for _, row := range []string{"0s;0%?;0%!", ";undecided;< 26%", "5ms;0%~;–", ";one round;"} {
		if !strings.Contains(got, row) {
			t.Errorf("no %q in\n%s", row, got)
		}
	}
	for _, words := range []string{
		"! none double-charged, and violated all the same: missing_charge", "~ not finished: measured until then", "HELD, interrupted", "1 not measured",
	} {
		if !strings.Contains(out, words) {
			t.Errorf("no %q in\n%s", words, out)
		}
	}
}

// One axis is one row; what is not varied stands in the heading, once.
func TestSweepOfOneAxis(t *testing.T) {
	d := swept()
	d.Sweep.Y = nil
	d.Sweep.X = results.Axis{Name: "isolation", Values: []string{"read committed", "serializable"}}
	d.Sweep.Cells, d.Runs = d.Sweep.Cells[:2], d.Runs[:2]
	for i, level := range d.Sweep.X.Values {
		d.Sweep.Cells[i].X, d.Sweep.Cells[i].Y = level, ""
		d.Runs[i].Settings.AttemptsPerIntent, d.Runs[i].Settings.Pool = 8, 3
		d.Runs[i].Server.NotDurable = "fsync is off"
	}
	d.Sweep.Planned, d.ExitCode = 2, 0
	out := text(t, d, Style{Width: 120})
	if got := strings.Join(rowsOf(out), "\n"); got != "isolation;read committed;serializable\n;0%;░░ 24%\n;< 26%;10–44%" {
		t.Error(got)
	}
	head := "sweep, charge: isolation, 2 cells of 10 rounds of 5 intents each; 8 attempts; pool 3; the acquirer takes 0s; seed 7\n" +
		"PostgreSQL 15.18 (embedded); NOT DURABLE: fsync is off, so commits are too fast\n"
	if !strings.HasPrefix(out, head) {
		t.Error(out)
	}
	if last := lastLine(out); last != "verdict: violated in 1 of 2 cells, first at isolation=serializable, as expected" {
		t.Error(last)
	}
}

// The last line says how the grid came out, whatever the end.
func TestSweepVerdicts(t *testing.T) {
	holds := func(d *results.Document) { // insert-first alone, in every cell
		d.Runs, d.Sweep.Cells, d.Verdict, d.ExitCode = d.Runs[5:], d.Sweep.Cells[5:], results.Held, 0
		d.Sweep.X.Values, d.Sweep.Y.Values = []string{"2", "50", "70"}, []string{"5ms"}
		for i := range d.Sweep.Cells {
			d.Sweep.Cells[i].Run, d.Sweep.Cells[i].X, d.Sweep.Cells[i].Y = i, d.Sweep.X.Values[i], "5ms"
		}
	}
	for name, c := range map[string]struct {
		change func(*results.Document)
		want   string
	}{
		"held": {holds, "verdict: held in every cell, as expected"},
		"several": {func(d *results.Document) {
			d.ExitCode, d.Runs[4].ExitCode, d.Runs[4].Verdict = 0, 0, results.Held
		}, "verdict: check-then-act violated in 3 of 4 cells, first at attempts=50, acquirer-latency=0s; insert-first held in every cell, as expected"},
		"undecided": {func(d *results.Document) {}, "verdict: inconclusive: check-then-act violated in 3 of 4 cells, first at attempts=50, acquirer-latency=0s; " +
			"insert-first held in 3 of 4 cells; undecided in 1, first at attempts=2, acquirer-latency=0s"},
		"against expectation": {func(d *results.Document) {
			holds(d)
			d.Runs[1].Verdict, d.Runs[1].ExitCode, d.ExitCode = results.Violated, 1, 1
		}, "verdict: AGAINST EXPECTATION: violated in 1 of 3 cells, first at attempts=50, acquirer-latency=5ms"},
		"interrupted": {func(d *results.Document) {
			holds(d)
			d.Sweep.Cells, d.ExitCode, d.Runs[2].Status, d.Runs[2].ExitCode = d.Sweep.Cells[:2], 130, results.Aborted, 130
		}, "verdict: interrupted, with 2 of 8 cells measured: held in 2 of 3 cells; 1 not measured"},
		"could not run": {func(d *results.Document) {
			holds(d)
			text := "the server went away"
			d.Sweep.Cells, d.ExitCode, d.Error, d.Runs[0].ExitCode = d.Sweep.Cells[:0], 3, &text, 3
		}, "verdict: not finished, with 0 of 8 cells measured: 3 not measured"},
	} {
		d := swept()
		c.change(&d)
		for _, width := range []int{40, 120} {
			out := text(t, d, Style{Width: width})
			if last := lastLine(out); last != c.want {
				t.Errorf("%s, at %d columns: %q, want %q", name, width, last, c.want)
			}
			if d.Error != nil && !strings.Contains(out, "\nerror: the server went away\n") {
				t.Errorf("%s: no error in\n%s", name, out)
			}
		}
	}
}

// The CSV has a line for each cell and the same columns whatever was varied; what the document does not have is empty, not zero.
func TestCSV(t *testing.T) {
	d := swept()
	d.Runs[3].Settings.AcquirerSettings, d.Runs[3].Waits, d.Runs[3].Counts = nil, nil, nil
	d.Runs[3].Reason = "double_charge, \"and\" more"
	d.Sweep.Cells[3].PerSecond = nil
	var b bytes.Buffer
	if err := CSV(&b, d); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(lines) != 1+len(d.Sweep.Cells) {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	value := func(line int, column string) string {
		for i, name := range lines[0] {
			if name == column {
				return lines[line][i]
			}
		}
		t.Fatalf("no column %s in %v", column, lines[0])
		return ""
	}
	for column, want := range map[string]string{
		"strategy": "check-then-act", "attempts_per_intent": "50", "acquirer_latency": "0s", "acquirer_latency_ms": "5", "pool": "50", "instances": "1",
		"isolation": committed, "rounds": "10", "intents": "50", "found": "12", "share": "0.24", "share_low": "0.101", "share_high": "0.44",
		"attempts_per_second": "1234.5", "lock_waits": "4", "lock_waits_total_ms": "2500", "duplicate_captures": "36", "verdict": "violated",
		"measure": "intents_double_charged", "confidence": "0.95", "seed": "7", "status": "complete", "expected": "violated",
	} {
		if got := value(2, column); got != want {
			t.Errorf("%s is %q, want %q", column, got, want)
		}
	}
	for _, column := range []string{"acquirer_latency", "acquirer_latency_ms", "lock_waits", "pool_waits_total_ms", "attempts_per_second", "latency_p50_ms", "duplicate_captures"} {
		if got := value(4, column); got != "" {
			t.Errorf("%s is absent, and %q", column, got)
		}
	}
	if got := value(5, "share_high"); got != "" || value(4, "reason") != d.Runs[3].Reason {
		t.Errorf("bound %q, reason %q", got, value(4, "reason"))
	}
	var none bytes.Buffer
	if err := CSV(&none, results.Document{}); err != nil || strings.Count(none.String(), "\n") != 1 {
		t.Errorf("without a sweep: %q, %v", none.String(), err)
	}
}

func TestSweepMarkdown(t *testing.T) {
	out, err := Markdown(swept())
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"0%<br>< 26%", "24%<br>10–44%", "\n- check-then-act: violated in 3 of 4 cells", "\n- verdict: inconclusive: ", "\n- ? undecided",
	} {
		if !strings.Contains(out, line) {
			t.Errorf("no %q in\n%s", line, out)
		}
	}
	for line := range strings.Lines(out) {
		if n := strings.Count(line, "|"); strings.HasPrefix(line, "|") && n != 4 {
			t.Errorf("%d bars in %q", n, line)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Error("escapes on a page")
	}
}
