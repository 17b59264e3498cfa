package scenarios

import "testing"

// tenants is a case of two clients with one key, of tenants 0 and 1: what each was told, and how often each was charged.
func tenants(first, second Attempt, captures, others int, rows ...Row) Intent {
	second.Tenant = 1
	in := Intent{Request: Request{Key: "k", OrderID: 1, AmountCents: 25000}, Clients: 2, Attempts: []Attempt{first, second}, Rows: rows}
	in.Requests, in.Captures, in.CapturedCents = captures+others, captures+others, int64(captures+others)*25000
	in.Tenants = map[int64]Told{
		0: {captures, captures, 0, int64(captures) * 25000, []string{"a"}},
		1: {others, others, 0, int64(others) * 25000, []string{"b"}},
	}
	return in
}

func TestTwoTenantsAreJudgedApart(t *testing.T) {
	charged := func(body string) Attempt { return Attempt{Answer: Charged, HTTP: 201, Body: body} }
	replayed := func(body string) Attempt { return Attempt{Answer: Replayed, HTTP: 201, Body: body} }
	astray := func(body string) Attempt { return Attempt{Answer: Charged, HTTP: 201, Body: body, Astray: true} }
	refused, later := Attempt{Answer: Mismatched, HTTP: 422}, Attempt{Answer: InProgress, HTTP: 409}
	row := func(tenant int64, status string) Row {
		return Row{Key: "k", AmountCents: 25000, Status: status, Tenant: tenant}
	}
	one, both := row(0, "CAPTURADA"), []Row{row(0, "CAPTURADA"), row(1, "CAPTURADA")}
	alone := tenants(charged("a"), Attempt{}, 1, 0, one) // as engines without tenants hand it over
	alone.Attempts, alone.Tenants, alone.Clients = alone.Attempts[:1], nil, 1

	for name, c := range map[string]struct {
		in   Intent
		want map[Anomaly]int
	}{
		"each charged once":                          {tenants(charged("a"), charged("b"), 1, 1, both...), nil},
		"one tenant, and nobody else":                {alone, nil},
		"told the other's answer":                    {tenants(charged("a"), replayed("a"), 1, 0, one), map[Anomaly]int{AnsweredWithoutCharge: 1, MissingCharge: 1}},
		"refused for the other's key":                {tenants(charged("a"), refused, 1, 0, one), map[Anomaly]int{MissingCharge: 1}},
		"told to wait for the other":                 {tenants(charged("a"), later, 1, 0, one), map[Anomaly]int{MissingCharge: 1}},
		"told to wait for its own":                   {tenants(charged("a"), later, 1, 0, one, row(1, "PROCESSANDO")), map[Anomaly]int{Orphan: 1}},
		"one charged twice, the other once":          {tenants(charged("a"), charged("b"), 2, 1, both...), map[Anomaly]int{DoubleCharge: 1, ChargedWithoutRecord: 1}},
		"each charged, one told the other's receipt": {tenants(charged(`{"captura": "a"}`), charged(`{"captura": "a"}`), 1, 1, both...), map[Anomaly]int{AnsweredWithoutCharge: 1}},
		"each charged, by the other":                 {tenants(astray("a"), astray("b"), 1, 1, both...), map[Anomaly]int{AnsweredWithoutCharge: 1}},
		"charged in the other's name":                {tenants(charged("a"), charged("b"), 2, 0, both...), map[Anomaly]int{DoubleCharge: 1, ChargedWithoutRecord: 1, AnsweredWithoutCharge: 1, MissingCharge: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, TwoTenants.Check(c.in), c.want)
			states := []any{tenantsModel.Init(c.in)}
			for _, a := range c.in.Attempts {
				var next []any
				for _, s := range states {
					next = append(next, tenantsModel.Attempt(s, a)...)
				}
				states = next
			}
			legal, seen := false, false
			for _, s := range states {
				legal = legal || tenantsModel.End(s, c.in)
			}
			for a := range c.want {
				for _, sees := range tenantsModel.Sees {
					seen = seen || a == sees
				}
			}
			if legal == seen {
				t.Errorf("the model says that it is legal: %v; anomalies %v", legal, c.want)
			}
		})
	}
}

// What engines add up: captures and rows beyond the first of each tenant's wish, or of the only one.
func TestTooManyIsCountedByWish(t *testing.T) {
	two := []Row{{Tenant: 0}, {Tenant: 1}, {Tenant: 1}}
	for name, c := range map[string]struct {
		in                    Intent
		wishes, captures, row int
	}{
		"none":               {Intent{}, 0, 0, 0},
		"three for one wish": {Intent{Captures: 3, Rows: make([]Row, 2)}, 1, 2, 1},
		"two wishes":         {Intent{Captures: 3, Tenants: map[int64]Told{0: {Captures: 1}, 1: {Captures: 2}}, Rows: two}, 2, 1, 1},
		"one of two":         {Intent{Captures: 2, Tenants: map[int64]Told{1: {Captures: 2}}}, 1, 1, 0},
		"one was declined":   {Intent{Captures: 1, Tenants: map[int64]Told{0: {Declines: 1}, 1: {Captures: 1}}}, 1, 0, 0},
	} {
		if w, n, r := c.in.Wishes(), c.in.TooMany(), c.in.RowsTooMany(); w != c.wishes || n != c.captures || r != c.row {
			t.Errorf("%s: %d wishes, %d captures and %d rows too many", name, w, n, r)
		}
	}
}

// However clients are dealt over instances in turn, each instance has some of either side: else a race across processes would be none.
func TestEveryInstanceHasBothSides(t *testing.T) {
	const attempts = 50
	for instances := 1; instances <= 8; instances++ {
		has := map[[2]int]bool{}
		for n := range attempts {
			has[[2]int{n % instances, int(side(n))}] = true
		}
		if len(has) != 2*instances {
			t.Errorf("%d instances: %v", instances, has)
		}
	}
	if both := side(0) + side(1); both != 1 {
		t.Error("the first two are of one side")
	}
}
