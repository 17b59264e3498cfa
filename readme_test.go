package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"idemlab/cmd"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

var update = flag.Bool("update", false, "write what is made from the code into README.md")

// TestREADMEListsTheStrategies keeps the table in README.md equal to the code's.
func TestREADMEListsTheStrategies(t *testing.T) {
	const open, end = "<!-- strategies: made from the code by go test -run TestREADME . -update -->\n", "<!-- /strategies -->"
	readme := readFile(t, "README.md")
	before, rest, ok := strings.Cut(readme, open)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("README.md has lost its marks around the strategies")
	}
	made := strategiesTable()
	if old == made {
		return
	}
	if !*update {
		t.Fatalf("README.md's strategies differ from the code's: go test -run TestREADME . -update")
	}
	if err := os.WriteFile("README.md", []byte(before+open+made+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func strategiesTable() string {
	var b strings.Builder
	for _, c := range scenarios.Scenarios() {
		fmt.Fprintf(&b, "\n**Scenario `%s`**: %s.\n\n", c.Name, c.Title)
		b.WriteString("| strategy | how it answers | in a race at READ COMMITTED | after a crash |\n|---|---|---|---|\n")
		for _, s := range c.Strategies() {
			fmt.Fprintf(&b, "| [`%s`](scenarios/%s) | %s | %s | %s |\n", s.Name, scenarios.FileOf(s.Name), s.Title,
				raced(s), claimed(s, scenarios.Crash))
		}
	}
	return b.String() + "\n"
}

// raced adds to the claims of a race what they depend on.
func raced(s scenarios.Strategy) string {
	one, several := claimed(s, scenarios.Race), claimed(s, scenarios.Instances)
	switch {
	case one != several:
		return one + " in one instance; across several: " + several
	case s.WantsDedup:
		return one + ", given an acquirer that deduplicates"
	}
	return one
}

// claimed puts a strategy's claims in a cell: what it shows, else that it holds.
func claimed(s scenarios.Strategy, under scenarios.Hazard) string {
	never, shows := s.Judged(under, "read committed")
	switch {
	case len(shows) > 0:
		var words []string
		for _, a := range shows {
			words = append(words, strings.ReplaceAll(string(a), "_", " "))
		}
		return strings.Join(words, ", ")
	case len(never) > 0:
		return "holds"
	}
	return "not claimed"
}

// TestREADMECommandsDoWhatItSays runs each command of README.md that prints something there, and compares, numbers aside.
func TestREADMECommandsDoWhatItSays(t *testing.T) {
	ran := 0
	for _, m := range regexp.MustCompile("(?s)```console\n\\$ go run \\. ([^\n]*)\n(.*?)```").FindAllStringSubmatch(readFile(t, "README.md"), -1) {
		line, want := m[1], m[2]
		if want == "" {
			continue
		}
		ran++
		t.Run(line, func(t *testing.T) {
			t.Chdir(t.TempDir()) // so that no run is kept in the repository
			var out, errs bytes.Buffer
			env := []string{"IDEMLAB_DSN=" + servertest.Server(t).DSN(), "LANG=C.UTF-8"}
			if code := cmd.Main(schema, strings.Fields(line), env, nil, &out, &errs); code != 0 {
				t.Fatalf("exit %d: %s", code, errs.String())
			}
			if got, want := shape(out.String()), shape(want); got != want {
				t.Errorf("README.md says\n%s\nthe tool prints\n%s", want, got)
			}
		})
	}
	if ran == 0 {
		t.Error("README.md shows no output")
	}
}

// TestREADMEExcerptsAreOfWhatTheToolPrints runs the commands of which README.md shows a few lines, and looks for those, numbers aside.
func TestREADMEExcerptsAreOfWhatTheToolPrints(t *testing.T) {
	tool, err := exec.LookPath("idemlab") // TestMain has put it there, since it starts itself again
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, m := range regexp.MustCompile("(?s)```console\n\\$ ./idemlab ([^\n]*)\n([^$`]+)```").FindAllStringSubmatch(readFile(t, "README.md"), -1) {
		line, want := m[1], m[2]
		ran++
		t.Run(line, func(t *testing.T) {
			c := exec.CommandContext(t.Context(), "sh", "-c", tool+" "+line)
			c.Dir = t.TempDir()
			c.Env = append(os.Environ(), "IDEMLAB_DSN="+servertest.Server(t).DSN(), "LANG=C.UTF-8")
			var errs bytes.Buffer
			c.Stderr = &errs
			out, err := c.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
			got := strings.Split(shape(string(out)), "\n")
			for wanted := range strings.Lines(want) {
				if wanted != "…\n" && !slices.Contains(got, shape(wanted)) {
					t.Errorf("README.md says\n%sthe tool prints\n%s", wanted, out)
				}
			}
		})
	}
	if ran == 0 {
		t.Error("README.md shows no excerpt")
	}
}

// shape is a report without what differs from run to run: numbers, where the server came from, how wide a column is, and the
// rows whose very lines depend on the machine.
func shape(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if regexp.MustCompile(`lock waits|pool waits|told last|by the client|at claim|who waited|, for one |^(no )?knee|^│ +│ *[\d,]* ?(in_progress|replayed)?`).MatchString(line) ||
			strings.HasPrefix(line, "PostgreSQL") {
			continue
		}
		line = regexp.MustCompile(` \((embedded|IDEMLAB_DSN)\)`).ReplaceAllString(line, "")
		line = regexp.MustCompile(`[\d.,]*\d`).ReplaceAllString(line, "#")
		line = strings.ReplaceAll(line, "–", "#") // too few to tell
		line = regexp.MustCompile(` (ms|s)\b`).ReplaceAllString(line, "")
		line = regexp.MustCompile(`[ ─]+`).ReplaceAllString(line, " ")
		lines = append(lines, strings.TrimSpace(line))
	}
	return regexp.MustCompile(`\n\n+`).ReplaceAllString(strings.Join(lines, "\n"), "\n\n") // where a paragraph was left out
}

// TestREADMELinksLead checks that every file named in a page is there.
func TestREADMELinksLead(t *testing.T) {
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "results/reference/README.md"} {
		for _, m := range regexp.MustCompile(`\]\(([^)#:]+)\)`).FindAllStringSubmatch(readFile(t, page), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// TestEachStrategyHasAReferenceRun: a strategy without one cannot be compared with anything.
func TestEachStrategyHasAReferenceRun(t *testing.T) {
	for _, s := range scenarios.All() {
		if _, err := os.Stat(filepath.Join("results", "reference", s.Name+".json")); err != nil {
			t.Errorf("%v\nrecord one: go run . race --strategy=%s --json > results/reference/%s.json", err, s.Name, s.Name)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
