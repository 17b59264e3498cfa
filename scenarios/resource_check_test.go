package scenarios

import "testing"

func TestResourceHoldsTheStateAgainstTheAnswers(t *testing.T) {
	req := Request{OrderID: 1, AmountCents: 25000}
	here := Row{ID: 1, OrderID: 1, Body: contentOf(req)}
	other := Row{ID: 2, OrderID: 1, Body: "something else"}
	made, again := Attempt{Answer: Done, HTTP: 201}, Attempt{Answer: Done, HTTP: 200}
	gone, missing := Attempt{Answer: Done, HTTP: 204}, Attempt{Answer: NotFound, HTTP: 404}
	failed := Attempt{Answer: Failed, HTTP: 500}
	rows := func(r ...Row) []Row { return r }

	for name, c := range map[string]struct {
		attempts []Attempt
		rows     []Row
		want     map[Anomaly]int
	}{
		"put twice":                     {[]Attempt{made, again}, rows(here), nil},
		"put once, and an error":        {[]Attempt{failed, made}, rows(here), nil},
		"deleted twice":                 {[]Attempt{gone, missing}, nil, nil},
		"nobody was told anything":      {[]Attempt{failed, {Died: true}}, rows(here, here), nil},
		"posted three times":            {[]Attempt{made, made, made}, rows(here, here, here), map[Anomaly]int{StateDiffers: 2}},
		"told that it is there":         {[]Attempt{again}, nil, map[Anomaly]int{StateDiffers: 1}},
		"with another content":          {[]Attempt{made}, rows(other), map[Anomaly]int{StateDiffers: 1}},
		"told that it is gone":          {[]Attempt{gone, missing}, rows(here), map[Anomaly]int{StateDiffers: 1}},
		"never there, and there it is":  {[]Attempt{missing}, rows(here), map[Anomaly]int{StateDiffers: 1}},
		"died after the second was put": {[]Attempt{made, {Died: true}}, rows(here, here), map[Anomaly]int{StateDiffers: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			compare(t, Resource.Check(Intent{Request: req, Clients: 2, Attempts: c.attempts, Rows: c.rows}), c.want)
		})
	}
	if len(Resource.Check(Intent{Request: req, Attempts: []Attempt{made}, RowsUnknown: true})) > 0 {
		t.Error("what could not be read proves something")
	}
}
