// Package report makes words and tables out of the run document, and of nothing else: a file kept years ago reads as the run
// did on its day. The verdict is the last line, in words, never by colour alone.
package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"idemlab/results"
)

// Style is how a report may look.
type Style struct {
	Width int // columns; under Narrow there is no table
	Color bool
	ASCII bool // no signs beyond ASCII in pictures

	Maps    []string // of a sweep: those to draw, of Maps(); none is the first
	Details bool     // of a sweep: every cell's figures, too
}

// Narrow is the width under which runs are listed one below the other.
const Narrow = 90

// Text writes the report for people: what was run and where, a table, what there is to say about it, the verdict.
func Text(w io.Writer, d results.Document, s Style) error {
	var b strings.Builder
	if isMutants(d) {
		heading(&b, d.Runs[0])
		mutants(&b, d, s)
		return write(w, b.String(), s)
	}
	if isSweep(d) {
		if err := sweep(&b, d, s); err != nil {
			return err
		}
		return write(w, b.String(), s)
	}
	if isGrid(d) {
		gridHeading(&b, d.Runs[0])
		if err := grid(&b, d, s); err != nil {
			return err
		}
		return write(w, b.String(), s)
	}
	if isBystander(d) {
		if err := bystander(&b, d, s); err != nil {
			return err
		}
	} else if isReconciled(d) {
		heading(&b, d.Runs[0])
		reconciled(&b, d.Runs[0])
	} else if len(d.Runs) > 0 {
		heading(&b, d.Runs[0])
		otherBounds(&b, d.Runs)
		if err := body(&b, d.Runs, s); err != nil {
			return err
		}
		if err := pictures(&b, d.Runs, s); err != nil {
			return err
		}
		autopsy(&b, d.Runs)
		aftermath(&b, d.Runs)
		columns(&b, d.Runs)
		constraints(&b, d.Runs)
		notes(&b, d.Runs)
	}
	gates(&b, d.Runs, s)
	if err := baselines(&b, d.Runs, s); err != nil {
		return err
	}
	if d.Error != nil {
		fmt.Fprintf(&b, "\nerror: %s\n", *d.Error)
	}
	verdicts(&b, d, s)
	return write(w, b.String(), s)
}

// write writes a report, on a narrow terminal with its first paragraph folded: the tables below choose their own way to be narrow.
func write(w io.Writer, text string, s Style) error {
	head, rest, found := strings.Cut(text, "\n\n")
	if found && s.Width < Narrow {
		text = fold(head, s.Width) + "\n\n" + rest
	}
	_, err := io.WriteString(w, text)
	return err
}

// fold breaks lines at spaces so that they fit, where they have spaces to break at.
func fold(text string, width int) string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for utf8.RuneCountInString(strip(line)) > width {
			at := -1
			for i, r := range []rune(line) {
				if r == ' ' && i <= width && i > 0 {
					at = i
				}
			}
			if at < 0 {
				break
			}
			lines = append(lines, string([]rune(line)[:at]))
			line = string([]rune(line)[at+1:])
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// heading is one paragraph: the question and the place.
func heading(b *strings.Builder, r results.Run) {
	if r.Retry != nil {
		retryHeading(b, r)
	} else if c := r.Settings; c != nil {
		raceHeading(b, r, *c)
	} else if r.Storage != nil {
		storageHeading(b, r)
	} else if r.Repeats != nil {
		repeatsHeading(b, r)
	} else if r.Load != nil {
		loadHeading(b, r, r.Load.Settings)
	} else if r.Consume != nil {
		consumeHeading(b, r, r.Consume.Settings)
	} else if r.Recovery != nil {
		recoveryHeading(b, r)
	} else if r.Expiry != nil {
		expiryHeading(b, r)
	} else if r.Stored != nil {
		storedHeading(b, r)
	} else if r.Neighbours != nil {
		neighboursHeading(b, r)
	} else if r.Explore != nil {
		fmt.Fprintf(b, "%s, %s: %s (%s)\n\n", r.Engine, r.Scenario, r.Explore.Bounds, r.Server.Source)
		return
	}
	place(b, r)
}

// otherBounds are those of explorations whose bounds are not the heading's.
func otherBounds(b *strings.Builder, runs []results.Run) {
	other := false
	for _, r := range runs[1:] {
		if r.Explore != nil && runs[0].Explore != nil && r.Explore.Bounds != runs[0].Explore.Bounds {
			other = true
			fmt.Fprintf(b, "%s: %s\n", r.Strategy, r.Explore.Bounds)
		}
	}
	if other {
		b.WriteString("\n")
	}
}

// place is where it was measured.
func place(b *strings.Builder, r results.Run) {
	fmt.Fprintf(b, "PostgreSQL %s (%s), %s", r.Server.Version, r.Server.Source, r.Server.Isolation)
	if r.Server.NotDurable != "" {
		fmt.Fprintf(b, "; NOT DURABLE: %s, so commits are too fast", r.Server.NotDurable)
	}
	b.WriteString("\n\n")
}

func raceHeading(b *strings.Builder, r results.Run, c results.Settings) {
	fmt.Fprintf(b, "%s, %s: %s of %s each", r.Engine, r.Scenario,
		count(c.Intents*max(1, c.Rounds), "intent"), count(c.AttemptsPerIntent, "attempt"))
	if c.Instances > 1 {
		fmt.Fprintf(b, " over %d instances, pool %d each", c.Instances, c.Pool)
	} else {
		fmt.Fprintf(b, ", pool %d", c.Pool)
	}
	if c.AcquirerSettings != nil {
		fmt.Fprintf(b, "; the %s takes %s", wordsOf(r).Far, c.AcquirerLatency)
	}
	fmt.Fprintf(b, "; seed %d\n", r.Seed)
}

// body is the table where it fits and a list where it does not.
func body(b *strings.Builder, runs []results.Run, s Style) error {
	if s.Width >= Narrow && alike(runs) {
		t, err := table(runs, s)
		if err != nil {
			return err
		}
		if widest(t) <= s.Width {
			b.WriteString(t)
			return nil
		}
	}
	for i, r := range runs {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintln(b, subject(r))
		for _, f := range fields(r) {
			label := f.label
			for _, v := range f.values {
				fmt.Fprintf(b, "  %-18s %s\n", label, f.paint(v, s))
				label = ""
			}
		}
	}
	return nil
}

// alike says whether the runs have the same figures, so that they can stand side by side: those of a race and of a search have not.
func alike(runs []results.Run) bool {
	labels := func(r results.Run) (labels []string) {
		for _, f := range fields(r) {
			labels = append(labels, f.label)
		}
		return labels
	}
	first := labels(runs[0])
	return !slices.ContainsFunc(runs, func(r results.Run) bool { return !slices.Equal(labels(r), first) })
}

func widest(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, utf8.RuneCountInString(strip(strings.TrimRight(line, "\n"))))
	}
	return most
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", thousands(int64(n)), what)
}
