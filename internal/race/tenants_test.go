package race

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/results"
	"idemlab/scenarios"
)

// leaky leaves the tenant out of one statement.
type leaky struct {
	scenarios.DB
	step string
}

func (d leaky) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	if scenarios.StepOf(sql) == d.step {
		sql = strings.Replace(sql, "WHERE inquilino = $1", "WHERE $1::bigint IS NOT NULL", 1)
	}
	return d.DB.QueryRow(ctx, sql, args...)
}

// swapped charges the other tenant.
type swapped struct{ scenarios.Acquirer }

func (a swapped) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	c.Tenant = 1 - c.Tenant
	return a.Acquirer.Capture(ctx, c)
}

// confused hands on the receipt that the other tenant got, once there is one.
type confused struct {
	scenarios.Acquirer
	of *sync.Map
}

func (a confused) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	r, err := a.Acquirer.Capture(ctx, c)
	type who struct{ order, tenant int64 }
	a.of.Store(who{c.OrderID, c.Tenant}, r)
	if other, ok := a.of.Load(who{c.OrderID, 1 - c.Tenant}); ok {
		return other.(scenarios.Receipt), err
	}
	return r, err
}

// Whatever a strategy mixes up of two tenants who wish for the same is found, though all counts are right.
func TestWhatIsMixedUpOfTwoTenantsIsFound(t *testing.T) {
	var receipts sync.Map
	for name, wrong := range map[string]func(scenarios.DB, scenarios.Acquirer) (scenarios.DB, scenarios.Acquirer){
		"nothing": func(db scenarios.DB, acq scenarios.Acquirer) (scenarios.DB, scenarios.Acquirer) { return db, acq },
		"the read": func(db scenarios.DB, acq scenarios.Acquirer) (scenarios.DB, scenarios.Acquirer) {
			return leaky{db, "read"}, acq
		},
		"the record": func(db scenarios.DB, acq scenarios.Acquirer) (scenarios.DB, scenarios.Acquirer) {
			return leaky{db, "record"}, acq
		},
		"the bill": func(db scenarios.DB, acq scenarios.Acquirer) (scenarios.DB, scenarios.Acquirer) {
			return db, swapped{acq}
		},
		"the receipt": func(db scenarios.DB, acq scenarios.Acquirer) (scenarios.DB, scenarios.Acquirer) {
			return db, confused{acq, &receipts}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := scenarios.KeyPerTenant
			right := s.New
			s.New = func(env scenarios.Env) scenarios.Handler {
				h := right(env)
				return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
					db, acq = wrong(db, acq)
					return h(ctx, db, acq, req)
				}
			}
			o := small(t, s)
			want := results.Violated
			if name == "nothing" {
				want = results.Held
			}
			if r := run(t, o); r.Verdict != want {
				t.Errorf("%s (%s): %+v", r.Verdict, r.Reason, r.Anomalies)
			}
		})
	}
}

// Two clients are of two tenants, and nothing happens twice to either.
func TestTooFewClientsForTwoTenants(t *testing.T) {
	o := small(t, scenarios.KeyPerTenant)
	o.Attempts = 2
	if r := run(t, o); r.Verdict != results.Inconclusive || !strings.Contains(r.Reason, "takes 3") {
		t.Errorf("%s: %s", r.Verdict, r.Reason)
	}
}
