package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"idemlab/results"
)

// storage and repeats are reported on from what stands in the file, at any width: a table that fits, or a list.
func TestStorageAndRepeatsFitTheTerminal(t *testing.T) {
	for name, last := range map[string]string{
		"storage": "verdict: violated, as expected (1 violated, 5 held)",
		"repeats": "verdict: held, as expected (10 held)",
	} {
		d := reference(t, name)
		tables := 0
		for width := 20; width <= 200; width += 15 {
			out := text(t, d, Style{Width: width})
			if lastLine(out) != last {
				t.Errorf("%s at %d columns: the last line is %q", name, width, lastLine(out))
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); strings.HasPrefix(line, "│") && n > width {
					t.Errorf("%s at %d columns: a line of %d", name, width, n)
				}
			}
			if strings.Contains(out, "┌") {
				tables++
			}
		}
		if tables == 0 {
			t.Errorf("%s: no table at any width", name)
		}
		markdown, err := Markdown(d)
		if err != nil || !strings.HasPrefix(markdown, "| ") {
			t.Errorf("%s: %v\n%s", name, err, markdown)
		}
	}
}

// What an interrupted run did not come to is a dash, never a zero, and the last line says that it was interrupted.
func TestAbsentIsNotZero(t *testing.T) {
	d := reference(t, "storage")
	r := &d.Runs[0]
	r.Status, r.ExitCode, d.ExitCode = results.Aborted, 130, 130
	r.Storage.Size, r.Storage.SameKey, r.Storage.WAL, r.Storage.Projection, r.Storage.Purge = nil, nil, nil, nil, nil
	for _, f := range fields(*r) {
		if f.label != "verdict" && (len(f.values) != 1 || f.values[0] != absent) {
			t.Errorf("%s: %v", f.label, f.values)
		}
	}
	if last := lastLine(text(t, d, Style{Width: 120})); !strings.HasPrefix(last, "verdict: interrupted") {
		t.Errorf("last line %q", last)
	}

	d = reference(t, "repeats")
	r = &d.Runs[0]
	r.Repeats.Client, r.Repeats.PerRepeat, r.Repeats.Around = nil, nil, nil
	for _, f := range fields(*r) {
		if f.label != "verdict" && f.values[0] != absent {
			t.Errorf("%s: %v", f.label, f.values)
		}
	}
	r = &d.Runs[1]
	r.Repeats.PerRepeat.ServerCPUMS, r.Repeats.PerRepeat.RowVersions, r.Repeats.PerRepeat.DeadRows = nil, nil, nil
	for _, f := range fields(*r) {
		if dash := f.values[0] == absent; dash != (f.label == "CPU" || f.label == "written" || f.label == "dead") {
			t.Errorf("%s: %v", f.label, f.values)
		}
	}
}

// Notes are said where they are true, and nowhere else.
func TestNotesSayWhatIsSo(t *testing.T) {
	notes := func(d results.Document) string { return text(t, d, Style{Width: 120}) }
	d := reference(t, "storage")
	for _, want := range []string{"must include all partitioning columns", "A retry past midnight charges again", "trusts the clock", "writes the whole page", "files stay as large"} {
		if !strings.Contains(notes(d), want) {
			t.Errorf("nothing of %q in\n%s", want, notes(d))
		}
	}
	d.Runs = d.Runs[:1]
	d.Runs[0].Storage.WAL.Checkpointed = false
	if out := notes(d); strings.Contains(out, "midnight") || strings.Contains(out, "writes the whole page") || !strings.Contains(out, "may make no CHECKPOINT") {
		t.Error(out)
	}

	d = reference(t, "repeats")
	if out := notes(d); !strings.Contains(out, "every 32nd") || strings.Contains(out, "others are at work") || strings.Contains(out, "CHECKPOINT") {
		t.Error(out)
	}
	for i := range d.Runs {
		d.Runs[i].Repeats.Around.IdleWALBytes, d.Runs[i].Repeats.Around.Checkpointed = 1e6, false
	}
	for _, want := range []string{"others are at work", "may make no CHECKPOINT"} {
		if !strings.Contains(notes(d), want) {
			t.Errorf("nothing of %q in\n%s", want, notes(d))
		}
	}
}

func TestSizes(t *testing.T) {
	for bytes, want := range map[float64]string{
		0: "0 B", 4.332: "4.3 B", 76.1: "76.1 B", 999: "999 B", 999.6: "1.00 kB", 8192: "8.19 kB", 99_960: "100 kB", 999_600: "1.00 MB", 2.5e9: "2.50 GB", 123e6: "123 MB",
		3.2e12: "3.20 TB", 5e18: "5000 PB",
	} {
		if got := size(bytes); got != want {
			t.Errorf("size(%v) = %q, want %q", bytes, got, want)
		}
	}
	for ms, want := range map[float64]string{86400000: "24h", 90000: "1m30s", 604800000: "7d", 172800000: "2d", 129600000: "36h", 3600000: "1h", 60000: "1m", 90000000: "25h"} {
		if got := lifetime(results.StorageSettings{LifetimeMS: ms}); got != want {
			t.Errorf("a lifetime of %v ms is written %q, want %q", ms, got, want)
		}
	}
	zero, some, little, once := 0.0, 0.03, 0.001, 1.0
	for v, want := range map[*float64]string{nil: absent, &zero: "0", &some: "0.03", &little: "< 0.01", &once: "1.00"} {
		if got := aRepeat(v); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
