package report

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"
	"unicode/utf8"

	"idemlab/results"
)

// cellOf is one run of a grid, made by hand: what it found is in its anomalies.
func cellOf(strategy, hazard, isolation string, exit int, anomalies ...string) results.Run {
	r := results.Run{
		Engine: "race", Scenario: "charge", Strategy: strategy, Hazard: hazard, Status: results.Complete, DurationMS: 1500, Seed: 7,
		Server:   results.Server{Version: "15.18", Source: "embedded", Isolation: isolation},
		Settings: &results.Settings{AttemptsPerIntent: 8, Intents: 5, Rounds: 1, Instances: 1, AcquirerSettings: &results.AcquirerSettings{AcquirerLatency: "5ms"}},
		Expected: results.Held, Verdict: results.Held, ExitCode: exit,
	}
	for _, a := range anomalies {
		r.Anomalies = append(r.Anomalies, results.Anomaly{Kind: a, Judged: true})
		r.Verdict = results.Violated
	}
	return r
}

// searched makes an exploration of it.
func searched(r results.Run, blocked int, schedule string) results.Run {
	r.Engine, r.Settings = "explore", nil
	r.Explore = &results.Explore{Sessions: 2, AttemptsPerSession: 2, Split: true, BlockedSteps: blocked, Coverage: "exhaustive"}
	if schedule != "" {
		r.Explore.Trace = &results.Trace{Schedule: schedule}
	}
	return r
}

func because(r results.Run, v results.Verdict, reason string) results.Run {
	r.Verdict, r.Reason = v, reason
	return r
}

const (
	committed  = "read committed"
	repeatable = "repeatable read"
)

// matrix is a grid with everything in it that a grid can say.
func matrix() results.Document {
	d := results.Document{Format: results.Format, Verdict: results.Violated, ExitCode: 1, Runs: []results.Run{
		cellOf("check-then-act", "race", committed, 0, "divergent_answers", "double_charge"),
		searched(cellOf("check-then-act", "crash", committed, 0, "double_charge"), 0, "A:check"),
		cellOf("insert-first", "race", committed, 0),
		searched(cellOf("insert-first", "race", committed, 0), 3, ""),
		searched(because(cellOf("insert-first", "crash", committed, 4), results.Inconclusive, "the search was cut off"), 2, ""),
		cellOf("broken", "race", committed, 1, "double_charge"),
		searched(because(cellOf("broken", "race", repeatable, 1, "missing_charge"), results.Violated, "missing_charge"), 0, "A:claim B:claim"),
	}}
	d.Runs[2].Anomalies = []results.Anomaly{{Kind: "error_to_duplicate"}} // seen, and not judged
	d.Runs[4].Explore.Coverage = "cut"
	d.Runs[5].Reason = "double_charge"
	return d
}

func TestGridSaysWhatWasFoundInEachCell(t *testing.T) {
	lines := func(width int) []string { return strings.Split(text(t, matrix(), Style{Width: width}), "\n") }
	row := func(name string) (cells []string) {
		for _, line := range lines(200) {
			if strings.HasPrefix(line, "│ "+name+" ") {
				for _, c := range strings.Split(strings.Trim(line, "│"), "│")[1:] {
					cells = append(cells, strings.TrimSpace(c))
				}
			}
		}
		return cells
	}
	for name, want := range map[string]string{ // race and crash at read committed, race at repeatable read
		"check-then-act": "double charge; double charge; –", // the worst, not the first
		"insert-first":   "holds, waits; undecided; –",
		"broken":         "AGAINST ITS CLAIM: double charge; –; AGAINST ITS CLAIM: missing charge",
	} {
		if got := strings.Join(row(name), "; "); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	narrow := strings.Join(lines(60), "\n")
	for _, want := range []string{
		"check-then-act\n  race, read committed: double charge\n  crash, read committed: double charge\n  race, repeatable read: –\n",
		"insert-first\n  race, read committed: holds, waits\n  crash, read committed: undecided\n",
		"broken\n  race, read committed: AGAINST ITS CLAIM: double charge\n",
	} {
		if !strings.Contains(narrow, want) {
			t.Errorf("at 60 columns there is no\n%s in\n%s", want, narrow)
		}
	}
}

// Several engines look at one cell: against the claim in one is against it, undecided in one is undecided, in whatever order.
func TestCellIsOfAllEngines(t *testing.T) {
	held, shown := cellOf("s", "race", committed, 0), cellOf("s", "race", committed, 0, "orphan")
	against, undecided := cellOf("s", "race", committed, 1, "double_charge"), cellOf("s", "race", committed, 4)
	lost := cellOf("s", "race", committed, 3)
	for _, c := range []struct {
		a, b results.Run
		want string
	}{
		{held, held, "holds"},
		{held, shown, "orphan"},
		{held, against, "AGAINST ITS CLAIM: double charge"},
		{held, undecided, "undecided"},
		{held, lost, "undecided"},
		{shown, undecided, "undecided"},
		{against, undecided, "AGAINST ITS CLAIM: double charge"},
		{held, searched(held, 1, ""), "holds, waits"},
	} {
		for _, order := range [][]results.Run{{c.a, c.b}, {c.b, c.a}} {
			if got, _ := cell(order); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		}
	}
	if got, m := cell(nil); got != absent || m != plain {
		t.Errorf("nobody looked: %q", got)
	}
}

// Each cell that is not as claimed is named below the grid, with its reason and the line that shows it again.
func TestGridNamesWhatIsNotAsClaimed(t *testing.T) {
	for _, width := range []int{60, 200} {
		out := text(t, matrix(), Style{Width: width})
		_, below, _ := strings.Cut(out, "\n\ninsert-first, crash")
		below, _, _ = strings.Cut(below, "\nverdict: ")
		if want := `, explore, read committed, 2 sessions: inconclusive, expected held: the search was cut off

broken, race, race, read committed: violated, against its claim: double_charge
again: idemlab race --strategy=broken --attempts 8 --intents 5 --rounds 1 --instances 1 --acquirer-latency 5ms --isolation 'read committed' --seed 7

broken, race, explore, repeatable read, 2 sessions: violated, against its claim: missing_charge
again: idemlab explore --strategy=broken --sessions 2 --isolation repeatable-read --schedule 'A:claim B:claim'
`; below != want {
			t.Errorf("at %d columns:\n%s", width, out)
		}
	}
}

func TestGridFitsTheTerminal(t *testing.T) {
	d := matrix()
	for width := 20; width <= 200; width += 10 {
		for line := range strings.Lines(text(t, d, Style{Width: width})) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width && strings.ContainsAny(line, "│┌├└") {
				t.Errorf("at %d columns a line of %d", width, n)
			}
		}
	}
	for width, want := range map[int]bool{60: false, 200: true} {
		if table := strings.Contains(text(t, d, Style{Width: width}), "┌"); table != want {
			t.Errorf("a table at %d columns: %v", width, table)
		}
	}
}

func TestGridsLastLine(t *testing.T) {
	ok, undecided := cellOf("s", "race", committed, 0), because(cellOf("s", "race", committed, 4), results.Inconclusive, "no overlap")
	for want, d := range map[string]results.Document{
		"verdict: 1 cell, every claim met":           {Runs: []results.Run{ok}},
		"verdict: 2 cells, 1 undecided":              {ExitCode: 4, Runs: []results.Run{ok, undecided}},
		"verdict: 1 cell, interrupted":               {ExitCode: 130, Runs: []results.Run{ok}},
		"verdict: 2 cells, 1 undecided, interrupted": {ExitCode: 130, Runs: []results.Run{ok, undecided}},
		"verdict: 3 cells, 1 not as claimed, 1 undecided": {ExitCode: 1, Runs: []results.Run{
			ok, undecided, cellOf("s", "race", committed, 1, "orphan")}},
		"verdict: 1 cell, 1 not as claimed":  {ExitCode: 1, Runs: []results.Run{cellOf("s", "race", committed, 1, "orphan")}},
		"verdict: 3 cells, 1 not as claimed": {ExitCode: 1, Runs: []results.Run{ok, ok, cellOf("s", "race", committed, 1, "orphan")}},
	} {
		for _, width := range []int{60, 200} {
			if got := lastLine(text(t, d, Style{Width: width})); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
}

func TestColourOnlyAddsToGridsAndMutants(t *testing.T) {
	for name, d := range map[string]results.Document{"grid": matrix(), "mutants": brokenOnes()} {
		for _, width := range []int{60, 200} {
			plain, coloured := text(t, d, Style{Width: width}), text(t, d, Style{Width: width, Color: true})
			if plain == coloured || strings.Contains(plain, "\x1b") || strip(coloured) != plain {
				t.Errorf("%s at %d columns:\n%s\n%s", name, width, plain, coloured)
			}
		}
	}
	coloured := text(t, matrix(), Style{Width: 60, Color: true})
	for _, want := range []string{"\x1b[31mAGAINST ITS CLAIM: double charge\x1b[0m", "\x1b[32mholds, waits\x1b[0m", "\x1b[33mundecided\x1b[0m"} {
		if !strings.Contains(coloured, want) {
			t.Errorf("no %q", want)
		}
	}
	coloured = text(t, brokenOnes(), Style{Width: 60, Color: true})
	for _, want := range []string{"\x1b[32mnoticed\x1b[0m", "\x1b[32mkilled\x1b[0m", "\x1b[31msurvivor\x1b[0m", " not applicable\n"} {
		if !strings.Contains(coloured, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestJUnitTellsFailuresFromErrors(t *testing.T) {
	d := matrix()
	d.Runs = append(d.Runs, because(cellOf("lost", "race", committed, 3), results.Inconclusive, `the server <went> away & "said" so`))
	d.Runs = append(d.Runs, because(cellOf("stopped", "race", committed, 130), results.Inconclusive, "interrupted"))
	var b bytes.Buffer
	if err := JUnit(&b, d); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(b.String(), "<?xml ") || !strings.HasSuffix(b.String(), "</testsuites>\n") {
		t.Errorf("%s", b.String())
	}
	var got junitSuites
	if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	s := got.Suites[0]
	if len(got.Suites) != 1 || s.Tests != 9 || len(s.Cases) != 9 || s.Failures != 2 || s.Errors != 3 || s.Skipped != 0 || s.Time != "13.500" {
		t.Errorf("%+v", s)
	}
	for i, want := range []struct{ class, name, failure, err, text string }{
		{"idemlab.charge.check-then-act", "race, race, read committed", "", "", ""},
		{"idemlab.charge.check-then-act", "crash, explore, read committed, 2 sessions", "", "", ""},
		{"idemlab.charge.insert-first", "race, race, read committed", "", "", ""},
		{"idemlab.charge.insert-first", "race, explore, read committed, 2 sessions", "", "", ""},
		{"idemlab.charge.insert-first", "crash, explore, read committed, 2 sessions", "", "inconclusive, expected held: the search was cut off", ""},
		{"idemlab.charge.broken", "race, race, read committed", "violated, against its claim: double_charge", "", "idemlab race --strategy=broken "},
		{"idemlab.charge.broken", "race, explore, repeatable read, 2 sessions", "violated, against its claim: missing_charge", "", "--schedule 'A:claim B:claim'"},
		{"idemlab.charge.lost", "race, race, read committed", "", `inconclusive, expected held: the server <went> away & "said" so`, "idemlab race "},
		{"idemlab.charge.stopped", "race, race, read committed", "", "inconclusive, expected held: interrupted", "idemlab race "},
	} {
		c := s.Cases[i]
		failure, err := junitCause{}, junitCause{}
		if c.Failure != nil {
			failure = *c.Failure
		}
		if c.Error != nil {
			err = *c.Error
		}
		if c.Class != want.class || c.Name != want.name || c.Time != "1.500" || failure.Message != want.failure || err.Message != want.err ||
			!strings.Contains(failure.Text+err.Text, want.text) {
			t.Errorf("case %d: %+v, failure %+v, error %+v; want %+v", i, c, failure, err, want)
		}
	}
}

func TestJUnitOfNothing(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, results.Document{}); err != nil || !strings.Contains(b.String(), `tests="0" failures="0" errors="0"`) {
		t.Errorf("%v: %s", err, b.String())
	}
}

// brokenOnes is a document of mutants, one for each fate.
func brokenOnes() results.Document {
	mutant := func(name string, f results.Fate, reason string) results.Run {
		r := cellOf("insert-first", "", committed, 0)
		r.Engine, r.Settings, r.Mutant, r.Fate, r.Reason = "explore", nil, name, f, reason
		r.Explore = &results.Explore{Bounds: "2 sessions, no faults"}
		return r
	}
	killed := mutant("late-commit", results.Killed, "double_charge")
	killed.Explore.ShortestViolation = &results.Violation{Anomaly: "double_charge", Short: "ABAB", Detail: "2 captures for one intent"}
	return results.Document{Format: results.Format, Verdict: results.Violated, ExitCode: 1, Runs: []results.Run{
		mutant("no-unique", results.Noticed, "missing constraint: insert-first needs it\nAdd\n  CONSTRAINT …"),
		killed,
		mutant("refusal-hidden", results.Survivor, ""),
		mutant("repeatable-read", results.NotApplicable, "it changes nothing of what this strategy does"),
	}}
}

func TestMutantsSayWhatGaveThemAway(t *testing.T) {
	const want = `insert-first           no-unique        noticed
                       missing constraint: insert-first needs it
insert-first           late-commit      killed
                       double_charge by ABAB (2 captures for one intent)
insert-first           refusal-hidden   survivor
                       nothing was found
insert-first           repeatable-read  not applicable
                       it changes nothing of what this strategy does

verdict: 1 killed, 1 noticed, 1 survived (1 not applicable)
a survivor is what the guarantee does not stand on, or what shows only with faults or with more clients than these
`
	out := text(t, brokenOnes(), Style{Width: 120})
	if _, list, _ := strings.Cut(out, "\n\n"); list != want {
		t.Errorf("%s", out)
	}
	d := brokenOnes()
	d.Runs, d.ExitCode = d.Runs[:2], 130
	if got := lastLine(text(t, d, Style{Width: 60})); got != "verdict: 1 killed, 1 noticed, 0 survived; interrupted" {
		t.Errorf("%s", got)
	}
}

// The bound speaks of rounds in which something could have been double-charged, by the rule of a sweep: not of attempts, nor of the intents
// of one round, nor of those that were refused, or whose attempts came one after another. One round bounds nothing.
func TestBoundCountsRounds(t *testing.T) {
	for name, c := range map[string]struct {
		rounds, each, charged, overlapped, double int
		want                                      string // "": it says nothing of a share
	}{
		"all were charged and raced":       {10, 5, 50, 50, 0, "in 50 intents that raced, in 10 rounds: the true share is below 25.9% (95% confidence; rounds are counted)."},
		"many intents in few rounds":       {2, 1000, 2000, 2000, 0, "in 2,000 intents that raced, in 2 rounds: the true share is below 77.6%"},
		"one intent each":                  {20, 1, 20, 20, 0, "in 20 intents that raced, in 20 rounds: the true share is below 13.9%"},
		"one round":                        {1, 50, 50, 50, 0, "in 50 intents that raced, in 1 round: no bound on the true share; more rounds give one (--rounds)."},
		"some were declined":               {20, 2, 20, 40, 0, "in 20 intents that raced, in 10 rounds: the true share is below 25.9%"},
		"some did not race":                {20, 1, 20, 10, 0, "in 10 intents that raced, in 10 rounds: the true share is below 25.9%"},
		"they may have been all one round": {2, 10, 20, 10, 0, "in 10 intents that raced, in 1 round: no bound"},
		"a round was never begun":          {2, 0, 20, 20, 0, "in 20 intents that raced."},
		"none were charged":                {1, 20, 0, 20, 0, ""},
		"one was double-charged":           {1, 20, 20, 20, 1, ""},
	} {
		d := reference(t, "insert-first")
		r := &d.Runs[0]
		r.Verdict, r.Overlap.IntentsOverlapped, r.Rounds = results.Held, c.overlapped, nil
		r.Counts = &results.Counts{Intents: c.rounds * c.each, IntentsCharged: &c.charged, AcquirerCounts: &results.AcquirerCounts{IntentsDoubleCharged: c.double}}
		for range c.rounds {
			r.Rounds = append(r.Rounds, results.Round{Intents: c.each})
		}
		out := text(t, d, Style{Width: 120})
		if !strings.Contains(out, c.want) || strings.Contains(out, "that raced") != (c.want != "") {
			t.Errorf("%s: no %q in\n%s", name, c.want, out)
		}
	}
}
