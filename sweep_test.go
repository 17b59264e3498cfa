package main

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"idemlab/cmd"
	"idemlab/internal/server/servertest"
	"idemlab/internal/stat"
	"idemlab/results"
)

// A cell is the race of its settings: asked for the same it comes to the same verdict, and their intervals meet. Beside the race of
// another cell's settings they do not, where these settings matter: the comparison can fail.
func TestCellAgreesWithASingleRace(t *testing.T) {
	const common = " -s check-then-act,insert-first --intents 3 --rounds 6 --acquirer-latency 20ms --pool 4 --json"
	sweep := measured(t, "sweep --x attempts=1,4"+common)
	if len(sweep.Runs) != 4 || len(sweep.Sweep.Cells) != 4 {
		t.Fatalf("%d runs, %d cells", len(sweep.Runs), len(sweep.Sweep.Cells))
	}
	for _, attempts := range []string{"1", "4"} {
		for _, single := range measured(t, "race --attempts "+attempts+common).Runs {
			for _, c := range sweep.Sweep.Cells {
				cell := sweep.Runs[c.Run]
				if cell.Strategy != single.Strategy {
					continue
				}
				same := c.X == attempts
				if got := reflect.DeepEqual(cell.Settings, single.Settings); got != same {
					t.Errorf("%s, %s and %s attempts: settings %+v and %+v", cell.Strategy, c.X, attempts, cell.Settings, single.Settings)
				}
				if same && (cell.Verdict != single.Verdict || cell.Counts.Attempts != single.Counts.Attempts || len(cell.Rounds) != len(single.Rounds)) {
					t.Errorf("%s, %s attempts: %s %+v, in a race %s %+v", cell.Strategy, attempts, cell.Verdict, cell.Counts, single.Verdict, single.Counts)
				}
				matters := cell.Strategy == "check-then-act"
				if got := meet(interval(t, cell), interval(t, single)); got != (same || !matters) {
					t.Errorf("%s, %s and %s attempts: %v and %v", cell.Strategy, c.X, attempts, interval(t, cell), interval(t, single))
				}
				if i := c.Interval; i != nil && (stat.Interval{Low: i.Low, High: i.High}) != interval(t, cell) {
					t.Errorf("%s, %s attempts: the document says %v", cell.Strategy, c.X, *i)
				}
			}
		}
	}
}

// Every cell has a control, all of a kind the same one: it is forced once, before the first of them.
func TestCellsShareTheirControl(t *testing.T) {
	d := measured(t, "sweep -s check-then-act,insert-first --x attempts=4,5 --y isolation=read-committed,serializable --rounds 1 --intents 1 --acquirer-latency 5ms --json")
	forced := map[string]int{}
	for _, r := range d.Runs {
		if r.Control == nil || !r.Control.Caught() {
			t.Fatalf("%s at %s: control %+v", r.Strategy, r.Server.Isolation, r.Control)
		}
		if !r.Control.Shared {
			forced[r.Server.Isolation]++
		}
	}
	if want := map[string]int{"read committed": 1, "serializable": 1}; len(d.Runs) != 8 || !reflect.DeepEqual(forced, want) {
		t.Errorf("%d runs, forced %v", len(d.Runs), forced)
	}
}

func meet(a, b stat.Interval) bool { return a.Low <= b.High && b.Low <= a.High }

// interval is that of the share of intents double-charged, by a run's rounds.
func interval(t *testing.T, r results.Run) stat.Interval {
	t.Helper()
	var rounds []stat.Round
	for _, x := range r.Rounds {
		rounds = append(rounds, stat.Round{N: x.Intents, Found: x.IntentsDoubleCharged})
	}
	_, i, ok := stat.Share(rounds)
	if !ok {
		t.Fatalf("no interval of %+v", r.Rounds)
	}
	return i
}

// measured runs a command line on the tests' server and reads the document that it prints.
func measured(t *testing.T, line string) results.Document {
	t.Helper()
	t.Chdir(t.TempDir()) // so that no run is kept in the repository
	var out, errs bytes.Buffer
	if code := cmd.Main(schema, strings.Fields(line), []string{"IDEMLAB_DSN=" + servertest.Server(t).DSN()}, nil, &out, &errs); code != 0 && code != 4 {
		t.Fatalf("%s: exit %d: %s", line, code, errs.String())
	}
	d, err := results.Read(&out)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
