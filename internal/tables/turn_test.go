package tables

import (
	"context"
	"errors"
	"testing"

	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

// A turn is for who takes advisory locks, in the strategy or in the DDL, or of whom it cannot be known. Under a context that has ended it
// is had or refused at once.
func TestWhoTakesATurn(t *testing.T) {
	srv, ddl := servertest.Server(t), articleDDL(t)
	locking := ddl + `; CREATE FUNCTION f() RETURNS void LANGUAGE sql AS 'SELECT PG_ADVISORY_XACT_LOCK(1)'`
	unknown := scenarios.InsertFirst
	unknown.Name = "nobodys"
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		name     string
		strategy scenarios.Strategy
		ddl      string
		turn     bool
	}{
		{"no locks", scenarios.InsertFirst, ddl, false},
		{"the strategy's", scenarios.AdvisoryXact, ddl, true},
		{"the DDL's", scenarios.InsertFirst, locking, true},
		{"unknown", unknown, ddl, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema, err := Create(t.Context(), srv, c.ddl, c.strategy)
			if err != nil {
				t.Fatal(err)
			}
			defer schema.Drop(t.Context())
			service, err := CreateOutOfTurn(t.Context(), srv, c.ddl, c.strategy)
			if err != nil {
				t.Fatal(err)
			}
			defer service.Drop(t.Context())
			if err := service.TakeTurn(ended); errors.Is(err, context.Canceled) != c.turn {
				t.Errorf("the turn is somebody's: %v, want %v", err, c.turn)
			}
		})
	}
}
