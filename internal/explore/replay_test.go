package explore_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"idemlab/internal/explore"
	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

func replay(t *testing.T, o explore.Options, text string) (explore.Trace, error) {
	t.Helper()
	return explore.Replay(t.Context(), place(t, o.Strategy), o, parsed(t, text))
}

func parsed(t *testing.T, text string) schedule.Schedule {
	t.Helper()
	s, err := schedule.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Whatever a run reports must come again, each time, from the line that it prints: long or short.
func TestEachViolationComesAgain(t *testing.T) {
	eachViolationComesAgain(t, 1, "check-then-act", "insert-first", "insert-first-open-tx")
}

func eachViolationComesAgain(t *testing.T, times int, names ...string) {
	t.Helper()
	for _, name := range names {
		o := options(named(name))
		o.Crashes = 1
		config := place(t, o.Strategy)
		r, err := explore.Run(t.Context(), config, o)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Violations) == 0 {
			t.Errorf("%s: no violation to replay", name)
		}
		for _, v := range r.Violations {
			for _, text := range []string{v.Schedule, v.Short} {
				s, err := schedule.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				for range times {
					trace, err := explore.Replay(t.Context(), config, o, s)
					if err != nil {
						t.Fatalf("%s: %s: %v", name, text, err)
					}
					if !slices.Contains(trace.Outcome.Anomalies, v.Anomaly) || trace.Schedule.String() != v.Schedule {
						t.Fatalf("%s: %s came to %v by %s, not to %s", name, text, trace.Outcome.Anomalies, trace.Schedule, v.Anomaly)
					}
				}
			}
		}
	}
}

func TestReplayShowsWhatHappened(t *testing.T) {
	trace, err := replay(t, options(scenarios.InsertFirstOpenTx), "A:claim B:claim A:capture A:record A:commit B:read B:commit")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, turn := range trace.Turns {
		line := string(rune('A'+turn.Session)) + ":" + turn.Step + " " + turn.Result
		if turn.Blocked {
			line += "waits for " + string(rune('A'+turn.BlockedBy[0]))
		}
		for _, w := range turn.Woke {
			line += ", wakes " + string(rune('A'+w.Session)) + ":" + w.Step + " " + w.Result
		}
		for _, a := range turn.Answers {
			line += ", " + string(a.Answer)
		}
		for _, row := range turn.Table {
			line += ", " + row.Status
		}
		got = append(got, line)
	}
	want := []string{
		"A:claim 1 row",
		"B:claim waits for A",
		"A:capture captured",
		"A:record 1 row",
		"A:commit ok, wakes B:claim 0 rows, charged, CAPTURADA",
		"B:read 1 row, CAPTURADA",
		"B:commit ok, replayed, CAPTURADA",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if last := trace.Turns[len(trace.Turns)-1]; last.Captures != 1 || last.SQL != "COMMIT" || trace.Turns[0].SQL != "INSERT cobranca" {
		t.Errorf("captures %d, SQL %q and %q", last.Captures, trace.Turns[0].SQL, last.SQL)
	}
}

func TestReplayCompletesAPrefix(t *testing.T) {
	trace, err := replay(t, options(scenarios.CheckThenAct), "A:check B:check")
	if want := "A:check B:check B:capture B:insert B:commit A:capture A:insert A:commit"; err != nil || trace.Schedule.String() != want {
		t.Errorf("%s, %v; want %s", trace.Schedule, err, want)
	}
}

func TestReplayRefusesWhatCannotBe(t *testing.T) {
	for text, possible := range map[string]string{
		"A:insert":               "possible are A:claim, B:claim",
		"A:claim B:claim B:read": "possible are A:commit", // B waits for A
		"A:claim a:commit":       "possible are A:commit, B:claim",
		"A:claim C:claim":        "possible are A:commit, B:claim",
	} {
		_, err := replay(t, options(scenarios.InsertFirst), text)
		var impossible *schedule.Impossible
		if !errors.As(err, &impossible) || !strings.HasSuffix(err.Error(), possible) {
			t.Errorf("%s: %v; want %q", text, err, possible)
		}
	}
}

// No schedule with fewer faults, or as many and fewer switches, has the anomaly: looked up in the run of every order.
func TestTheShortestIsTheShortest(t *testing.T) {
	for _, name := range []string{"check-then-act", "insert-first", "insert-not-exists"} {
		o := options(named(name))
		o.LostReplies = 1
		full, reduced := both(t, o)
		if len(full.Violations) != len(reduced.Violations) || len(full.Violations) == 0 {
			t.Fatalf("%s: full found %v, reduced %v", name, full.Violations, reduced.Violations)
		}
		for i, v := range reduced.Violations {
			f := full.Violations[i]
			if v.Anomaly != f.Anomaly || v.Faults != f.Faults || v.Switches != f.Switches || !v.Minimal || !f.Minimal {
				t.Errorf("%s: reduced: %+v, full: %+v", name, v, f)
			}
		}
	}
}
