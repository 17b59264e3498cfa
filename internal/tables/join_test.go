package tables

import (
	"errors"
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
