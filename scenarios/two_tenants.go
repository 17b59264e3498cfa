package scenarios

import (
	"encoding/json"
	"fmt"
	"slices"
)

// TwoTenants is a key that is not as unique as it looks: two tenants of one service make their keys on their own, of their order's
// number for one, and both begin to count at 1. Equal keys, equal orders, equal amounts, and two different wishes.
//
// The same goes for whatever else a key is unique within, such as an endpoint: a key that was used for a charge may be used for a
// refund. idemlab neighbours asks what each constraint makes of that.
var TwoTenants = Scenario{
	Name:       "two-tenants",
	Title:      "one key, sent by two tenants for a charge each: both must be charged once, and neither be told the other's answer",
	Strategies: twoTenantsStrategies,
	Control:    KeyForAllTenants,
	Harm:       MissingCharge,
	Clients:    3, // two of one tenant
	Tables:     []string{"cobranca", "cobranca_inquilino"},
	Rows: `
		SELECT id, idempotency_key, pedido_id, valor_centavos, status,
		       coalesce(resposta_http, 0), coalesce(resposta_corpo::text, ''), inquilino
		  FROM cobranca
		 WHERE id > $1
		   AND pedido_id >= $2
		UNION ALL
		SELECT id, idempotency_key, pedido_id, valor_centavos, status,
		       coalesce(resposta_http, 0), coalesce(resposta_corpo::text, ''), inquilino
		  FROM cobranca_inquilino
		 WHERE id > $1
		   AND pedido_id >= $2
		 ORDER BY 1`,
	Unique:  KeyConstraint,
	Answers: []Answer{Charged, Replayed, InProgress, Mismatched, Declined, Failed},
	Request: func(of Request, n int) Request {
		of.Tenant = side(n) // everything else is the same
		return of
	},
	Check:    checkTenants,
	Model:    &tenantsModel,
	Acquirer: true,
}

// tenantKey is the tenant's key as one of all tenants': for a column that is unique by itself, and for the acquirer, at which the service
// is one customer whatever tenants it has. A number before a hyphen can be split in one way only.
func tenantKey(req Request) string { return fmt.Sprintf("%d-%s", req.Tenant, req.Key) }

// TenantKeyConstraint is the constraint of cobranca_inquilino that stands for KeyConstraint there.
const TenantKeyConstraint = "uq_cobranca_inquilino_idempotency_key"

// checkTenants judges each tenant's wish as the scenario charge judges an intent: by the tenant's own attempts, rows and captures.
// Whoever is told the other's answer was answered without a charge, and so was whoever had the other charged: the counts alone do not
// show it, since both wish for the same.
func checkTenants(in Intent) []Finding {
	var found []Finding
	for _, t := range in.tenants() {
		for _, f := range checkCharge(in.of(t)) {
			f.Detail = fmt.Sprintf("tenant %d: %s", t, f.Detail)
			found = append(found, f)
		}
		if n, what := in.strayed(t); n > 0 {
			found = append(found, Finding{AnsweredWithoutCharge, n, fmt.Sprintf("tenant %d: %s", t, what)})
		}
	}
	order := Anomalies()
	slices.SortStableFunc(found, func(x, y Finding) int {
		return slices.Index(order, x.Anomaly) - slices.Index(order, y.Anomaly)
	})
	return found
}

// strayed is in how many of a tenant's attempts the other one comes in: it was charged, or its receipt was told.
func (in Intent) strayed(tenant int64) (n int, what string) {
	own := in.Tenants[tenant].Receipts
	for _, a := range in.Attempts {
		if a.Tenant != tenant || a.Died {
			continue
		}
		var told struct{ Captura string }
		_ = json.Unmarshal([]byte(a.Body), &told) // a body without a receipt names nobody's
		switch {
		case a.Astray:
			what = "an attempt had another tenant charged"
		case in.Tenants != nil && told.Captura != "" && !slices.Contains(own, told.Captura):
			what = "a client was told receipt " + told.Captura + ", which is another tenant's"
		default:
			continue
		}
		n++
	}
	return n, what
}

// tenants are those who asked, and whoever else has a row or was charged.
func (in Intent) tenants() []int64 {
	all := []int64{in.Request.Tenant}
	for _, a := range in.Attempts {
		all = append(all, a.Tenant)
	}
	for _, r := range in.Rows {
		all = append(all, r.Tenant)
	}
	for t := range in.Tenants {
		all = append(all, t)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// of is the tenant's part in an intent, as an intent.
func (in Intent) of(tenant int64) Intent {
	one := in
	one.Request.Tenant, one.Tenants = tenant, nil
	one.Attempts = slices.DeleteFunc(slices.Clone(in.Attempts), func(a Attempt) bool { return a.Tenant != tenant })
	one.Rows = slices.DeleteFunc(slices.Clone(in.Rows), func(r Row) bool { return r.Tenant != tenant })
	told := in.told(tenant)
	one.Requests, one.Captures, one.Declines, one.CapturedCents = told.Requests, told.Captures, told.Declines, told.CapturedCents
	return one
}

func (in Intent) told(tenant int64) Told {
	switch {
	case in.Tenants != nil:
		return in.Tenants[tenant]
	case tenant == in.Request.Tenant:
		return Told{Requests: in.Requests, Captures: in.Captures, Declines: in.Declines, CapturedCents: in.CapturedCents}
	}
	return Told{}
}

// tenantsModel is a service of the scenario charge for each tenant, and no way from one to the other.
var tenantsModel = Model{
	Init: func(Intent) any { return tenantsState{} },
	Attempt: func(state any, a Attempt) (next []any) {
		for _, s := range state.(tenantsState)[a.Tenant%2].attempted(a) {
			after := state.(tenantsState)
			after[a.Tenant%2] = s.(chargeState)
			next = append(next, after)
		}
		return next
	},
	End: func(state any, in Intent) bool {
		for t, s := range state.(tenantsState) {
			if n, _ := in.strayed(int64(t)); n > 0 || !chargeModel.End(s, in.of(int64(t))) {
				return false
			}
		}
		return true
	},
	Sees: chargeModel.Sees,
}

// tenantsState is what each of the two tenants' service knows.
type tenantsState [2]chargeState
