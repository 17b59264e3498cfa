package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"idemlab/results"
)

// A recorded run reads the same years later, at any width: what was told, what was taken, what was left, and a story.
func TestRetryReport(t *testing.T) {
	d := reference(t, "retry")
	for width := 20; width <= 200; width += 20 {
		out := text(t, d, Style{Width: width, ASCII: true})
		for _, want := range []string{
			"service:kill@after-capture: struck 5", "5 of 5 intents", "0 of 5 intents", "charged more than once",
			"insert-first-open-tx: money taken that no row says was taken, R$ 1,250.00:", "recorded as captured",
			"insert-first-open-tx, order 1000: charged 2 times\n  +0 ms tap 1: POST\n", "fault: service:kill@after-capture",
			"verdict: violated, as expected (1 violated, 1 held)",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("at %d columns there is no %q in\n%s", width, want, out)
			}
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); strings.HasPrefix(line, "│") && n > width {
				t.Errorf("at %d columns: a line of %d", width, n)
			}
		}
	}
	table, err := Markdown(d)
	if err != nil || !strings.Contains(table, "| double-charged") || !strings.Contains(table, "service:kill@after-capture: struck 5") {
		t.Errorf("%v\n%s", err, table)
	}
	var junit bytes.Buffer
	d.Runs[1].ExitCode = 1
	if err := JUnit(&junit, d); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`failures="1"`, "crash, retry, read committed", "idemlab retry --strategy=insert-first-open-tx --intents 5", "--fault service:kill@after-capture --reconcile"} {
		if !strings.Contains(junit.String(), want) {
			t.Errorf("there is no %q in\n%s", want, junit.String())
		}
	}
}

// What was not measured is a dash, and no zero: a run that was stopped before its rows could be read.
func TestRetryReportOfHalfARun(t *testing.T) {
	d := reference(t, "retry")
	r := &d.Runs[0]
	r.Status, r.Retry.Orphans, r.Retry.Unrecorded, r.Retry.RequestsPerFinal, r.Retry.Told = results.Aborted, nil, nil, nil, nil
	r.Retry.TimeToFinal = results.Latency{}
	for _, f := range retryFields(*r) {
		switch f.label {
		case "orphans", "unrecorded", "until final", "told last":
			if len(f.values) != 1 || f.values[0] != absent {
				t.Errorf("%s: %q", f.label, f.values)
			}
		}
	}
}
