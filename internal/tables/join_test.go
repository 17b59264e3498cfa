package tables

import (
	"errors"
	"strings"
	"testing"

	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

// Tables that are there are taken as they are by the strategies for which they were made, and by no others.
func TestJoinedTablesAreThoseOfTheStrategy(t *testing.T) {
	srv := servertest.Server(t)
	for _, c := range []struct {
		made, joined scenarios.Strategy
		fits         bool
		noted        bool
	}{
		{scenarios.InsertFirst, scenarios.InsertFirst, true, false},
		{scenarios.InsertFirst, scenarios.InsertFirstCatch, true, false},
		{scenarios.InsertFirst, scenarios.CheckThenAct, false, false},
		{scenarios.CheckThenAct, scenarios.CheckThenAct, true, false},
		{scenarios.CheckThenAct, scenarios.InsertFirst, false, false},
		{scenarios.CheckThenAct, scenarios.InsertFirstCatch, true, true},
		{scenarios.ReadThenWrite, scenarios.ForUpdate, true, false},
	} {
		t.Run(c.made.Name+", "+c.joined.Name, func(t *testing.T) {
			maker, err := Create(t.Context(), srv, articleDDL(t), c.made)
			if err != nil {
				t.Fatal(err)
			}
			defer maker.Drop(t.Context())
			if err := maker.Share(t.Context()); err != nil {
				t.Fatal(err)
			}
			schema, note, err := Join(t.Context(), srv, maker.Name(), c.joined)
			if (err == nil) != c.fits || !c.fits && !errors.Is(err, ErrOtherTables) || (note != "") != c.noted {
				t.Errorf("%q, %v", note, err)
			}
			if schema == nil {
				return
			}
			if err := schema.Leave(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A strategy is asked for the constraints that it names, on the tables that they are on: key-per-tenant has its own, and it is all the same
// to it what the other table has.
func TestJoinLooksForTheConstraintsOfTheStrategy(t *testing.T) {
	srv := servertest.Server(t)
	const onTenants = "CONSTRAINT uq_cobranca_inquilino_idempotency_key UNIQUE (inquilino, idempotency_key)"
	noneOnTenants := strings.Replace(articleDDL(t), onTenants, "CHECK (true)", 1)
	if noneOnTenants == articleDDL(t) {
		t.Fatal("schema.sql has no such constraint")
	}
	for name, c := range map[string]struct {
		ddl  string
		made scenarios.Strategy
		want string // in the refusal
	}{
		"its own alone":     {without(t, articleDDL(t)), scenarios.KeyPerTenant, ""},
		"the other's alone": {noneOnTenants, scenarios.KeyForAllTenants, "no UNIQUE (inquilino, idempotency_key) on cobranca_inquilino, which key-per-tenant needs"},
	} {
		t.Run(name, func(t *testing.T) {
			maker, err := Create(t.Context(), srv, c.ddl, c.made)
			if err != nil {
				t.Fatal(err)
			}
			defer maker.Drop(t.Context())
			if err := maker.Share(t.Context()); err != nil {
				t.Fatal(err)
			}
			schema, note, err := Join(t.Context(), srv, maker.Name(), scenarios.KeyPerTenant)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) || note != "" {
				t.Errorf("%q, %v", note, err)
			}
			if schema == nil {
				return
			}
			if err := schema.Leave(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}
