package spec_test

import (
	"log"
	"os"

	"idemlab/internal/spec"
)

// One order of two attempts, for isolationtester or for a bug report.
func ExampleWrite() {
	claim := func(name string) spec.Step {
		return spec.Step{Name: name, SQL: "INSERT INTO charge VALUES ('k') ON CONFLICT DO NOTHING RETURNING key;"}
	}
	err := spec.Write(os.Stdout, spec.Spec{
		Setup:    []string{"CREATE TABLE charge (key text PRIMARY KEY);"},
		Teardown: "DROP TABLE charge;",
		Sessions: []spec.Session{
			{Name: "A", Setup: "BEGIN;", Steps: []spec.Step{claim("A:claim"), {Name: "A:commit", SQL: "COMMIT;"}}},
			{Name: "B", Steps: []spec.Step{claim("B:claim")}},
		},
		Permutations: []spec.Permutation{{{Step: "A:claim"}, {Step: "B:claim"}, {Step: "A:commit"}}},
		Invariants:   []string{"SELECT key FROM charge GROUP BY key HAVING count(*) > 1"},
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// # invariant: SELECT key FROM charge GROUP BY key HAVING count(*) > 1
	//
	// setup { CREATE TABLE charge (key text PRIMARY KEY); }
	// teardown { DROP TABLE charge; }
	//
	// session A
	// setup { BEGIN; }
	// step "A:claim" { INSERT INTO charge VALUES ('k') ON CONFLICT DO NOTHING RETURNING key; }
	// step "A:commit" { COMMIT; }
	//
	// session B
	// step "B:claim" { INSERT INTO charge VALUES ('k') ON CONFLICT DO NOTHING RETURNING key; }
	//
	// permutation "A:claim" "B:claim" "A:commit"
}
