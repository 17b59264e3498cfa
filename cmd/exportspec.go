package cmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"idemlab/internal/spec"
	"idemlab/results"
	"idemlab/scenarios"
)

// specSchema is where an exported spec puts its tables, so that it touches nobody else's.
const specSchema = "idemlab_spec"

// exportSpec writes the one order that a run's document holds in isolationtester's format, for a DBA to run with PostgreSQL's
// own tool. The acquirer, which no SQL can call, is a SELECT that says what it was told.
func exportSpec(path, ddl string, s scenarios.Strategy, isolation string, t results.Trace) error {
	text := &strings.Builder{}
	fmt.Fprintf(text, "# %s, %s: %s\n", s.Name, isolation, t.Schedule)
	if err := spec.Write(text, specOf(ddl, s, isolation, t)); err != nil {
		return fmt.Errorf("export the schedule: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".spec-*")
	if err != nil {
		return fmt.Errorf("export the schedule: %w", err)
	}
	defer os.Remove(tmp.Name()) // after the rename there is nothing of that name
	_, err = tmp.WriteString(text.String())
	if err := errors.Join(err, tmp.Chmod(0o644), tmp.Close()); err != nil {
		return fmt.Errorf("export the schedule: %w", err)
	}
	return os.Rename(tmp.Name(), path)
}

// canExport says before anything runs why a file of that path could not be written after it.
func canExport(path string) error {
	if isDir(path) {
		return usagef("--export-spec %s: that is a folder; name a file", path)
	}
	if err := canWriteBeside(path); err != nil {
		return usagef("--export-spec %s: %w", path, err)
	}
	return nil
}

func specOf(ddl string, s scenarios.Strategy, isolation string, t results.Trace) spec.Spec {
	setup := []string{"CREATE SCHEMA " + specSchema + ";", "SET search_path = " + specSchema + ";\n" + ddl}
	for _, name := range s.Without {
		setup = append(setup, fmt.Sprintf("ALTER TABLE cobranca DROP CONSTRAINT IF EXISTS %s;\nCREATE INDEX ON cobranca (idempotency_key);", name))
	}
	if len(t.Prepared) > 0 {
		setup = append(setup, statements(t.Prepared))
	}
	out := spec.Spec{Setup: setup, Teardown: "DROP SCHEMA " + specSchema + " CASCADE;"}
	index := map[string]int{}
	for i := range t.Sessions {
		name := string(rune('A' + i))
		index[name] = i
		out.Sessions = append(out.Sessions, spec.Session{
			Name: name, Setup: fmt.Sprintf("SET search_path = %s;\nSET default_transaction_isolation = '%s';", specSchema, isolation),
		})
	}
	var order spec.Permutation
	for n, turn := range t.Turns {
		sql := stepSQL(turn)
		if sql == "" {
			continue
		}
		step := spec.Step{Name: fmt.Sprintf("%s%d_%s", turn.Session, n+1, turn.Step), SQL: sql}
		session := &out.Sessions[index[turn.Session]]
		session.Steps = append(session.Steps, step)
		order = append(order, spec.Turn{Step: step.Name})
	}
	out.Permutations = []spec.Permutation{order}
	return out
}

// stepSQL is what a turn is in SQL: nothing where it sent nothing and told the acquirer nothing.
func stepSQL(t results.Turn) string {
	var sent []string
	for _, sql := range t.Sent {
		if !strings.HasPrefix(sql, "SET LOCAL synchronous_commit") { // explore's own, to stop between decided and visible
			sent = append(sent, sql)
		}
	}
	switch {
	case len(sent) > 0:
		return statements(sent)
	case t.Kind == results.TurnLostRequest:
		return "SELECT 'the request to the acquirer is lost' AS acquirer;"
	case t.Kind == results.TurnLostReply:
		return "SELECT 'the acquirer captures, and its reply is lost' AS acquirer;"
	case t.Kind == results.TurnStep && t.Step == "capture":
		return "SELECT 'the acquirer captures' AS acquirer;"
	}
	return ""
}

func statements(list []string) string {
	var b strings.Builder
	for i, sql := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(strings.TrimRight(strings.TrimSpace(sql), ";") + ";")
	}
	return b.String()
}
