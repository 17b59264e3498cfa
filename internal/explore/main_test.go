package explore_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/internal/server/servertest"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// place makes the strategy's tables, in a schema of the test's own.
func place(t testing.TB, s scenarios.Strategy) *pgx.ConnConfig {
	t.Helper()
	return placeWith(t, s, "")
}

// placeWith makes something more there.
func placeWith(t testing.TB, s scenarios.Strategy, more string) *pgx.ConnConfig {
	t.Helper()
	schema, err := tables.CreateOutOfTurn(t.Context(), servertest.Server(t), ddl(t)+more, s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := schema.Drop(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
	})
	return schema.Config()
}

// ddl makes the lab's tables, and those that the tests' strategies have beside them.
func ddl(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + orders
}

func run(t testing.TB, o explore.Options) explore.Result {
	t.Helper()
	r, err := explore.Run(t.Context(), place(t, o.Strategy), o)
	if err != nil {
		t.Fatalf("%s: %v", o.Strategy.Name, err)
	}
	return r
}
