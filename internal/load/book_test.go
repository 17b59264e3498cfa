package load

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idemlab/internal/acquirer"
	"idemlab/scenarios"
)

func newTestBook(p plan, instances int) *book {
	b := newBook(Options{Scenario: scenarios.ChargeOnce, Instances: instances}, acquirer.New(acquirer.Options{}))
	b.plan = p
	return b
}

// However late an instance is, and in whatever order its attempts end, an intent is settled once, after the last of its attempts.
func TestIntentsAreSettledWhenNobodyCanTryThemAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPlan(t)
		k := rapid.IntRange(1, 4).Draw(t, "instances")
		b := newTestBook(p, k)
		const each = 3000
		queues, sent := make([][]fact, k), 0
		for i := range queues {
			for seq := range uint64(each) {
				f := fact{Seq: seq, Answer: scenarios.Charged, Dropped: seq%17 == 3}
				queues[i] = append(queues[i], f)
				if !f.Dropped {
					sent++
				}
			}
			for range 50 { // some end out of turn
				x := rapid.IntRange(0, each-1).Draw(t, "one")
				y := min(each-1, x+rapid.IntRange(0, 300).Draw(t, "later"))
				queues[i][x], queues[i][y] = queues[i][y], queues[i][x]
			}
		}
		settledBefore := map[uint64]bool{}
		for slices.ContainsFunc(queues, func(q []fact) bool { return len(q) > 0 }) {
			i := rapid.IntRange(0, k-1).Draw(t, "instance")
			n := min(len(queues[i]), rapid.IntRange(1, 1500).Draw(t, "facts"))
			for _, f := range queues[i][:n] {
				if e := p.errand(f.Seq*uint64(k) + uint64(i)); !f.Dropped && settledBefore[e.intent] {
					t.Fatalf("intent %d was settled before attempt %d of instance %d", e.intent, f.Seq, i)
				}
			}
			b.enter(i, queues[i][:n])
			queues[i] = queues[i][n:]
			for number := range b.odd {
				settledBefore[number] = true
			}
		}
		open := len(b.open)
		b.settleAll()
		if len(b.open) != 0 || b.totals.intents != len(b.odd) || b.totals.attempts != sent {
			t.Fatalf("%d left open, %d settled, %d kept, %d sent, %+v", len(b.open), b.totals.intents, len(b.odd), sent, b.totals)
		}
		if p.HotShare < 0.5 && open > 2*memory+2*generation+k*stretch {
			t.Fatalf("%d intents were still open at the end", open)
		}
		if b.totals.repeats != b.totals.attempts-b.totals.intents {
			t.Fatalf("%d repeats among %d attempts at %d intents", b.totals.repeats, b.totals.attempts, b.totals.intents)
		}
	})
}

// What the table holds decides: one row each is ordinary; another one, none, or one that says something else is not.
func TestRowsAreHeldAgainstTheBook(t *testing.T) {
	b := newTestBook(plan{Seed: 1, Near: 2}, 1)
	var facts []fact
	for seq := range uint64(6) {
		req := b.plan.request(errand{intent: seq})
		if seq != 5 { // the last is charged by nobody, and says it was
			if _, err := b.acq.For(req.Key).Capture(t.Context(), scenarios.Charge(req)); err != nil {
				t.Fatal(err)
			}
		}
		facts = append(facts, fact{Seq: seq, Answer: scenarios.Charged, HTTP: 201, Body: "b"})
	}
	b.enter(0, facts)
	b.settleAll()
	if len(b.odd) != 1 {
		t.Fatalf("%d odd intents before the rows are read, want 1", len(b.odd))
	}
	row := func(seq uint64, status string) scenarios.Row {
		req := b.plan.request(errand{intent: seq})
		return scenarios.Row{Key: req.Key, OrderID: req.OrderID, AmountCents: req.AmountCents, Status: status}
	}
	rows := []scenarios.Row{row(0, "CAPTURADA"), row(1, "CAPTURADA"), row(2, "PROCESSANDO"), row(1, "CAPTURADA"), row(4, "CAPTURADA")}
	m := &measurement{options: Options{Scenario: scenarios.ChargeOnce}, book: b}
	err := b.readRows(func(each func(scenarios.Row)) error {
		for _, r := range rows {
			each(r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, a := range m.anomalies() {
		found[a.Intent] = append(found[a.Intent], a.Kind)
	}
	key := func(seq uint64) string { return b.plan.request(errand{intent: seq}).Key }
	for seq, want := range map[uint64][]string{
		0: nil, 1: nil, 2: {"charged_without_record", "orphan"}, 3: {"charged_without_record"}, 4: nil, 5: {"answered_without_charge", "missing_charge"},
	} {
		if got := found[key(seq)]; !slices.Equal(got, want) {
			t.Errorf("intent %d: %v, want %v", seq, got, want)
		}
	}
	if c := m.counts(); *c.Rows != 5 || *c.DuplicateRows != 1 || *c.Orphans != 1 || *c.ChargedWithoutRecord != 2 || c.Captures != 5 {
		t.Errorf("counts: %+v, %d rows, %d duplicate", c, *c.Rows, *c.DuplicateRows)
	}
}

// Rows that could not be read are not missing rows.
func TestRowsThatCannotBeReadProveNothing(t *testing.T) {
	b := newTestBook(plan{Seed: 1, Near: 2}, 1)
	b.enter(0, []fact{{Seq: 0, Answer: scenarios.Failed}})
	b.settleAll()
	m := &measurement{options: Options{Scenario: scenarios.ChargeOnce}, book: b}
	if err := b.readRows(func(func(scenarios.Row)) error { return errors.New("gone") }); err == nil {
		t.Error("no error")
	}
	for _, a := range m.anomalies() {
		if a.Kind == string(scenarios.ChargedWithoutRecord) || a.Kind == string(scenarios.Orphan) {
			t.Errorf("found %s", a.Kind)
		}
	}
	if c := m.counts(); c.Rows != nil || c.Orphans != nil {
		t.Error("absent is not zero")
	}
}

// Only what was charged once, told so, and told the same each time may be forgotten.
func TestOnlyTheOrdinaryIsForgotten(t *testing.T) {
	once := acquirer.Count{Requests: 1, Captures: 1}
	at := func(a scenarios.Answer, body string) scenarios.Attempt {
		return scenarios.Attempt{Answer: a, HTTP: 201, Body: body}
	}
	first, again := at(scenarios.Charged, "b"), at(scenarios.Replayed, "b")
	for name, c := range map[string]struct {
		count    acquirer.Count
		attempts []scenarios.Attempt
		want     bool
	}{
		"charged":               {once, []scenarios.Attempt{first}, true},
		"and replayed":          {once, []scenarios.Attempt{again, first, again}, true},
		"and told to wait":      {once, []scenarios.Attempt{{Answer: scenarios.InProgress, HTTP: 409}, first}, true},
		"charged twice":         {acquirer.Count{Requests: 2, Captures: 2}, []scenarios.Attempt{first}, false},
		"asked for twice":       {acquirer.Count{Requests: 2, Captures: 1, Repeats: 1}, []scenarios.Attempt{first}, false},
		"declined":              {acquirer.Count{Requests: 1, Declines: 1}, []scenarios.Attempt{at(scenarios.Declined, "b")}, false},
		"told so twice":         {once, []scenarios.Attempt{first, first}, false},
		"never told":            {once, []scenarios.Attempt{again}, false},
		"replayed other bytes":  {once, []scenarios.Attempt{first, at(scenarios.Replayed, "c")}, false},
		"replayed other status": {once, []scenarios.Attempt{first, {Answer: scenarios.Replayed, HTTP: 200, Body: "b"}}, false},
		"one failed":            {once, []scenarios.Attempt{first, {Answer: scenarios.Failed, HTTP: 500}}, false},
		"one refused":           {once, []scenarios.Attempt{first, {Answer: scenarios.Mismatched, HTTP: 422}}, false},
	} {
		if got := ordinary(c.count, c.attempts); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// An intent without an end is not judged, whatever its rows say; one whose money was taken twice is, for that.
func TestUnfinishedIntentsAreJudgedByTheMoneyOnly(t *testing.T) {
	for what, f := range map[string]fact{
		"given up": {GivenUp: true}, "stopped": {Stopped: true}, "lost": {Lost: "gone"}, "turned away after the capture": {State: "40001"},
	} {
		for captures := range 3 {
			b := newTestBook(plan{Seed: 1, Near: 2}, 1)
			req := b.plan.request(errand{intent: 0})
			for range captures {
				if _, err := b.acq.For(req.Key).Capture(t.Context(), scenarios.Charge(req)); err != nil {
					t.Fatal(err)
				}
			}
			f.Answer = scenarios.Failed
			b.enter(0, []fact{f})
			b.settleAll()
			m := &measurement{options: Options{Scenario: scenarios.ChargeOnce}, book: b}
			row := scenarios.Row{Key: req.Key, OrderID: req.OrderID, AmountCents: req.AmountCents, Status: "PROCESSANDO"}
			if err := b.readRows(func(each func(scenarios.Row)) error { each(row); return nil }); err != nil {
				t.Fatal(err)
			}
			m.anomalies()
			if want := max(0, captures-1); len(m.found) > 1 || m.found[scenarios.DoubleCharge] != want || b.totals.cut+b.totals.turned != 1 {
				t.Errorf("%s, %d captures: %v, %+v", what, captures, m.found, b.totals)
			}
		}
	}
}

// Who was told to try again, and nothing else, is not missing a charge; who was told an error of another kind is.
func TestTurnedAwayIsNotRefused(t *testing.T) {
	for state, want := range map[string]int{"40001": 0, "40P01": 0, "23505": 1, "": 1} {
		b := newTestBook(plan{Seed: 1, Near: 2}, 1)
		b.enter(0, []fact{{Seq: 0, Answer: scenarios.Failed, HTTP: 500, State: state}})
		b.settleAll()
		m := &measurement{options: Options{Scenario: scenarios.ChargeOnce}, book: b}
		if m.anomalies(); m.found[scenarios.MissingCharge] != want || b.totals.turned != 1-want {
			t.Errorf("%q: %v, %d turned away", state, m.found, b.totals.turned)
		}
	}
}

func TestOverlap(t *testing.T) {
	at := func(from, to int) span { return span{time.Unix(int64(from), 0), time.Unix(int64(to), 0)} }
	for _, c := range []struct {
		spans []span
		want  bool
	}{
		{nil, false}, {[]span{at(0, 9)}, false}, {[]span{at(0, 2), at(2, 4)}, false}, {[]span{at(0, 2), at(3, 4), at(1, 9)}, true},
	} {
		if overlap(c.spans) != c.want {
			t.Errorf("%v: %v", c.spans, !c.want)
		}
	}
}
