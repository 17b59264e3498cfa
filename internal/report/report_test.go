package report

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"idemlab/results"
)

func reference(t *testing.T, names ...string) results.Document {
	t.Helper()
	var all results.Document
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("../../results/reference", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		d, err := results.Read(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		all.Runs = append(all.Runs, d.Runs...)
	}
	all.Format, all.Verdict = results.Format, results.Worst(all.Runs)
	return all
}

func text(t *testing.T, d results.Document, s Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, d, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func lastLine(s string) string {
	lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	return lines[len(lines)-1]
}

// An old file is reported on from what stands in it, at any width, and no line of a table is wider than the terminal.
func TestTextFitsTheTerminal(t *testing.T) {
	d := reference(t, "check-then-act", "insert-first", "insert-first-open-tx")
	for width := 20; width <= 200; width += 15 {
		out := text(t, d, Style{Width: width})
		if lastLine(out) != "verdict: violated, as expected (1 violated, 2 held)" {
			t.Errorf("at %d columns the last line is %q", width, lastLine(out))
		}
		if table := strings.Contains(out, "┌"); table && width < Narrow {
			t.Errorf("a table at %d columns", width)
		}
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); strings.HasPrefix(line, "│") && n > width {
				t.Errorf("at %d columns: a line of %d", width, n)
			}
		}
	}
}

// Colour says nothing that the words do not.
func TestColourOnlyAdds(t *testing.T) {
	d := reference(t, "check-then-act", "insert-first")
	for _, width := range []int{60, 120} {
		plain, coloured := text(t, d, Style{Width: width}), text(t, d, Style{Width: width, Color: true})
		if plain == coloured || strings.Contains(plain, "\x1b") || strip(coloured) != plain {
			t.Errorf("at %d columns:\n%s\n%s", width, plain, coloured)
		}
	}
}

func TestEveryEndHasWords(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*results.Document)
		want   string
	}{
		"held":         {func(d *results.Document) {}, "held, as expected"},
		"violated":     {func(d *results.Document) { d.Verdict, d.ExitCode = results.Violated, 1 }, "AGAINST EXPECTATION"},
		"inconclusive": {func(d *results.Document) { d.Verdict, d.ExitCode = results.Inconclusive, 4 }, "inconclusive"},
		"held, and one was skipped": {func(d *results.Document) {
			d.Skipped = []results.Skipped{{Strategy: "merge", Reason: "needs PostgreSQL 15 or later"}}
		}, "held, as expected"},
		"interrupted": {func(d *results.Document) {
			d.ExitCode, d.Runs[0].Status, d.Runs[0].ExitCode = 130, results.Aborted, 130
		}, "interrupted"},
		"could not run": {func(d *results.Document) {
			d.ExitCode = 3
			d.Runs[0] = results.Run{Engine: "race", Strategy: "insert-first", Status: results.Errored, ExitCode: 3}
		}, "did not come to its end"},
	} {
		t.Run(name, func(t *testing.T) {
			d := reference(t, "insert-first")
			c.change(&d)
			for _, width := range []int{60, 120} {
				out := text(t, d, Style{Width: width})
				if last := lastLine(out); !strings.HasPrefix(last, "verdict: ") || !strings.Contains(last, c.want) {
					t.Errorf("last line %q", last)
				}
			}
		})
	}
}

func TestMarkdownIsOneTable(t *testing.T) {
	d := reference(t, "check-then-act", "insert-first")
	d.Runs[0].Strategy = "a|b"
	out, err := Markdown(d)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out) {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); n != 4 {
			t.Errorf("%d bars in %q", n, line)
		}
	}
	if !strings.Contains(out, "20 of 20 intents") {
		t.Error(out)
	}
}

func TestNumbers(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999"} {
		if got := thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{0: "R$ 0.00", 25000: "R$ 250.00", 123456789: "R$ 1,234,567.89", -5: "-R$ 0.05"} {
		if got := reais(n); got != want {
			t.Errorf("reais(%d) = %q, want %q", n, got, want)
		}
	}
}
