// Package neighbours asks PostgreSQL what a unique constraint makes of requests that are near each other: the same key from two tenants,
// at two endpoints, without a tenant, and two keys for one charge.
package neighbours

import "idemlab/scenarios"

// Constraint is one way to make a key unique, and what goes wrong with it.
type Constraint struct {
	Name      string   // as typed
	SQL       []string // of the table
	MinServer int      // first major version that knows it; 0 for any
	Shows     []scenarios.Anomaly
}

// Constraints are in the order in which people find out.
func Constraints() []Constraint {
	const double, missing = scenarios.DoubleCharge, scenarios.MissingCharge
	event := `UNIQUE NULLS NOT DISTINCT (inquilino, pedido_id, parcela)`
	return []Constraint{
		{Name: "key", SQL: []string{`UNIQUE (idempotency_key)`}, Shows: []scenarios.Anomaly{double, missing}},
		{Name: "tenant-key", SQL: []string{`UNIQUE (inquilino, idempotency_key)`}, Shows: []scenarios.Anomaly{double, missing}},
		{Name: "tenant-route-key", SQL: []string{`UNIQUE (inquilino, rota, idempotency_key)`}, Shows: []scenarios.Anomaly{double}},
		{Name: "tenant-route-key-nulls", SQL: []string{`UNIQUE NULLS NOT DISTINCT (inquilino, rota, idempotency_key)`}, MinServer: 15,
			Shows: []scenarios.Anomaly{double}},
		{Name: "and-the-event", SQL: []string{`UNIQUE NULLS NOT DISTINCT (inquilino, rota, idempotency_key)`, event}, MinServer: 15},
	}
}

// request is what a request says that could tell it from another.
type request struct {
	tenant      any // nil where there is none
	route, key  string
	order       int
	installment int
}

// pair is two requests, one after the other.
type pair struct {
	name          string
	first, second request
	same          bool
}

// pairs are neighbours of one request. Each pair has a table of its own.
func pairs() []pair {
	of := request{tenant: 1, route: "/cobrancas", key: "k", order: 123, installment: 1}
	with := func(change func(*request)) request { r := of; change(&r); return r }
	nobody := with(func(r *request) { r.tenant = nil })
	return []pair{
		{"a retry", of, of, true},
		{"another tenant, the same key", of, with(func(r *request) { r.tenant = 2 }), false},
		{"another endpoint, the same key", of, with(func(r *request) { r.route, r.order, r.installment = "/estornos", 7, 1 }), false},
		{"a retry without a tenant", nobody, nobody, true},
		{"the same charge, another key", of, with(func(r *request) { r.key = "k2" }), true},
		{"the next instalment, another key", of, with(func(r *request) { r.key, r.installment = "k2", 2 }), false},
	}
}
