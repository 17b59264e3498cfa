package race

import (
	"strings"
	"testing"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/results"
	"idemlab/scenarios"
)

// told is the record of an attempt that was told something.
func told(a scenarios.Answer, http int, body string) instance.Record {
	return instance.Record{Answer: a, HTTP: http, Body: body}
}

// clean is an intent of which everything is as it should be, with what the ledger and the table say of it.
func clean(number, round int) (outcome, *evidence) {
	it := newIntent(1, number, round)
	out := outcome{
		intent:      it,
		attempts:    []instance.Record{told(scenarios.InProgress, 409, ""), told(scenarios.Charged, 201, "cap-1")},
		repeat:      told(scenarios.Replayed, 201, "cap-1"),
		mismatch:    told(scenarios.Mismatched, 422, ""),
		otherAnswer: told(scenarios.Charged, 201, "cap-2"),
	}
	return out, &evidence{
		options: Options{Scenario: scenarios.ChargeOnce, Rounds: round + 1, Intents: 1},
		ledger: map[string]acquirer.Count{
			it.req.Key:   {Requests: 1, Captures: 1, CapturedCents: amountCents},
			it.other.Key: {Requests: 1, Captures: 1, CapturedCents: amountCents},
		},
		rows: map[int64][]scenarios.Row{it.req.OrderID: {
			{Key: it.req.Key, OrderID: it.req.OrderID, AmountCents: amountCents, Status: "CAPTURADA"},
			{Key: it.other.Key, OrderID: it.req.OrderID, AmountCents: amountCents, Status: "CAPTURADA"},
		}},
	}
}

// What a follow-up is told counts as what an attempt is told: it is the same client, later.
func TestFollowupsAreEvidence(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*outcome)
		want   scenarios.Anomaly
	}{
		"all is well":                        {func(*outcome) {}, ""},
		"the repeat is told other bytes":     {func(o *outcome) { o.repeat.Body = "cap-2" }, scenarios.DivergentAnswers},
		"the repeat is told another status":  {func(o *outcome) { o.repeat.HTTP = 200 }, scenarios.DivergentAnswers},
		"the repeat is charged once more":    {func(o *outcome) { o.repeat = told(scenarios.Charged, 201, "cap-3") }, scenarios.DivergentAnswers},
		"the repeat fails":                   {func(o *outcome) { o.repeat = told(scenarios.Failed, 500, "") }, scenarios.ErrorToDuplicate},
		"another amount is answered":         {func(o *outcome) { o.mismatch = told(scenarios.Replayed, 201, "cap-1") }, scenarios.DivergentAnswers},
		"another amount fails":               {func(o *outcome) { o.mismatch = told(scenarios.Failed, 500, "") }, scenarios.ErrorToDuplicate},
		"an attempt's body is not the first": {func(o *outcome) { o.attempts[0] = told(scenarios.Replayed, 201, "cap-9") }, scenarios.DivergentAnswers},
	} {
		out, ev := clean(1, 0)
		c.change(&out)
		ev.intents = []outcome{out}
		var kinds []string
		for _, a := range ev.anomalies() {
			kinds = append(kinds, a.Kind)
		}
		if got := strings.Join(kinds, " "); got != string(c.want) {
			t.Errorf("%s: found %q, want %q", name, got, c.want)
		}
	}
}

func TestOtherChargeIsEvidence(t *testing.T) {
	for want, count := range map[scenarios.Anomaly]acquirer.Count{
		"":                      {Requests: 1, Captures: 1},
		scenarios.MissingCharge: {},
		scenarios.DoubleCharge:  {Requests: 2, Captures: 2},
	} {
		out, ev := clean(1, 0)
		ev.intents, ev.ledger[out.other.Key] = []outcome{out}, count
		found := ev.anomalies()
		if len(found) > 1 || (len(found) == 1) != (want != "") || len(found) == 1 && found[0].Kind != string(want) {
			t.Errorf("the other charge counted %+v: found %+v, want %q", count, found, want)
		}
	}
}

func TestReplayedSameBytesMeansTheSameBytes(t *testing.T) {
	for name, c := range map[string]struct {
		repeat instance.Record
		first  instance.Record
		want   int
	}{
		"the same":                    {told(scenarios.Replayed, 201, "cap-1"), told(scenarios.Charged, 201, "cap-1"), 1},
		"the same refusal":            {told(scenarios.Replayed, 402, "no"), told(scenarios.Declined, 402, "no"), 1},
		"other bytes":                 {told(scenarios.Replayed, 201, "cap-2"), told(scenarios.Charged, 201, "cap-1"), 0},
		"the same bytes, spaced":      {told(scenarios.Replayed, 201, "cap-1 "), told(scenarios.Charged, 201, "cap-1"), 0},
		"another status":              {told(scenarios.Replayed, 200, "cap-1"), told(scenarios.Charged, 201, "cap-1"), 0},
		"charged again, not replayed": {told(scenarios.Charged, 201, "cap-1"), told(scenarios.Charged, 201, "cap-1"), 0},
		"nobody was told first":       {told(scenarios.Replayed, 201, "cap-1"), told(scenarios.Failed, 201, "cap-1"), 0},
	} {
		out, ev := clean(1, 0)
		out.repeat, out.attempts = c.repeat, []instance.Record{told(scenarios.InProgress, 409, ""), c.first}
		ev.intents = []outcome{out}
		if f := ev.followups(); f.ReplayedSameBytes != c.want || f.Repeats != 1 {
			t.Errorf("%s: %d of %d replayed with the same bytes, want %d", name, f.ReplayedSameBytes, f.Repeats, c.want)
		}
	}
}

// Rounds are told apart, and money is what the ledger says moved, whatever was asked for.
func TestCountsAreOfEachRoundAndInCents(t *testing.T) {
	ev := &evidence{options: Options{Scenario: scenarios.ChargeOnce, Rounds: 2, Intents: 2}, ledger: map[string]acquirer.Count{}, rows: map[int64][]scenarios.Row{}}
	for i, c := range []struct {
		round int
		count acquirer.Count
	}{
		{0, acquirer.Count{Requests: 1, Captures: 1, CapturedCents: 100}},
		{0, acquirer.Count{Requests: 4, Captures: 3, Declines: 1, CapturedCents: 3 * amountCents}},
		{1, acquirer.Count{Requests: 2, Captures: 2, CapturedCents: amountCents + 1}},
		{1, acquirer.Count{Requests: 1, Declines: 1}},
	} {
		it := newIntent(1, i+1, c.round)
		ev.intents = append(ev.intents, outcome{intent: it, attempts: make([]instance.Record, 5)})
		ev.ledger[it.req.Key] = c.count
		ev.ledger[it.other.Key] = acquirer.Count{Requests: 1, Captures: 1, CapturedCents: amountCents} // stands in no count
	}
	c, rounds := ev.count()
	if c.Captures != 6 || c.CaptureRequests != 8 || c.Declines != 2 || c.DuplicateCaptures != 3 || c.Attempts != 20 ||
		c.Intents != 4 || *c.IntentsCharged != 3 || c.IntentsDoubleCharged != 2 {
		t.Errorf("%+v", c)
	}
	if c.CapturedCents != 100+3*amountCents+amountCents+1 || c.OwedCents != 3*amountCents {
		t.Errorf("taken %d cents, owed %d", c.CapturedCents, c.OwedCents)
	}
	want := []results.RoundCharges{
		{Captures: 4, DuplicateCaptures: 2, IntentsDoubleCharged: 1},
		{Captures: 2, DuplicateCaptures: 1, IntentsDoubleCharged: 1},
	}
	for i, r := range rounds {
		if len(rounds) != 2 || r.Intents != 2 || *r.RoundCharges != want[i] {
			t.Errorf("round %d of %d: %+v, %+v", i+1, len(rounds), r, r.RoundCharges)
		}
	}
}

// An intent went wrong once, however many anomalies it had, and not at all where none of them counts.
func TestRoundsCountIntentsThatWentWrong(t *testing.T) {
	ev := &evidence{}
	run := results.Run{Rounds: make([]results.Round, 3)}
	for i, found := range [][]results.Anomaly{
		{{Kind: "double_charge", Judged: true}, {Kind: "divergent_answers", Judged: true}},
		{{Kind: "orphan"}, {Kind: "double_charge", Judged: true}},
		{{Kind: "orphan"}},
		nil,
	} {
		it := newIntent(1, i+1, i/2)
		ev.intents = append(ev.intents, outcome{intent: it})
		for _, a := range found {
			a.Intent = it.req.Key
			run.Anomalies = append(run.Anomalies, a)
		}
	}
	markRounds(&run, ev)
	for i, want := range []int{2, 0, 0} { // the third was never begun
		if got := run.Rounds[i].IntentsViolated; got == nil || *got != want {
			t.Errorf("round %d: %v, want %d", i+1, got, want)
		}
	}
}

// Attempts race from the first that is let go to the last that is answered, whoever that is; between two intents nobody races.
func TestRacingLeavesThePausesOut(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1, 0).Add(time.Duration(ms) * time.Millisecond) }
	got := racing([]outcome{
		{attempts: []instance.Record{{Called: at(2), Answered: at(9)}, {Called: at(1), Answered: at(11)}, {Called: at(3), Answered: at(4)}}},
		{},
		{attempts: []instance.Record{{Called: at(100), Answered: at(105)}}},
	})
	if want := 15 * time.Millisecond; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// Reports and people count attempts from 1.
func TestTimelineNamesIntentAndAttempt(t *testing.T) {
	start := time.Unix(1, 0)
	record := func(pid uint32) instance.Record {
		return instance.Record{
			Statements: []instance.Statement{{Step: "claim", PID: pid, Start: start, End: start.Add(1)}},
			Holds:      []instance.Hold{{PID: pid, From: start, To: start.Add(2)}},
			PoolWaits:  []time.Duration{time.Duration(pid)},
		}
	}
	ev := &evidence{intents: []outcome{
		{intent: intent{number: 7}, attempts: []instance.Record{record(10), record(11)}, repeat: record(99)},
		{intent: intent{number: 8}, attempts: []instance.Record{record(12)}},
	}}
	statements, holds, pool := ev.timeline()
	if len(statements) != 3 || len(holds) != 3 || len(pool) != 3 { // without the follow-ups
		t.Fatalf("%v %v %v", statements, holds, pool)
	}
	for i, want := range []string{"intent 7 attempt 1", "intent 7 attempt 2", "intent 8 attempt 1"} {
		pid := uint32(10 + i)
		if s := statements[i]; s.Who != want || s.PID != pid || s.Step != "claim" || !s.End.After(s.Start) {
			t.Errorf("statement %+v, want %s", s, want)
		}
		if h := holds[i]; h.Who != want || h.PID != pid || !h.To.After(h.From) {
			t.Errorf("hold %+v, want %s", h, want)
		}
		if pool[i] != time.Duration(pid) {
			t.Errorf("pool waits %v", pool)
		}
	}
}

// Of the gaps between the first and the last attempt that left the gate, the widest stands in the document.
func TestOverlapIsOfAllIntents(t *testing.T) {
	at := func(ms int) time.Time { return time.Unix(1, 0).Add(time.Duration(ms) * time.Millisecond) }
	rec := func(called, sent, answered int) instance.Record {
		return instance.Record{Called: at(called), Sent: at(sent), Answered: at(answered)}
	}
	got := overlap([]outcome{
		{attempts: []instance.Record{rec(0, 1, 10), rec(2, 3, 10), rec(1, 4, 10)}}, // three at once, 2 ms apart
		{attempts: []instance.Record{rec(0, 1, 5), rec(5, 6, 10)}},                 // one after the other, 5 ms apart
		{attempts: []instance.Record{rec(0, 1, 10), rec(1, 2, 10)}},
		{},
	})
	if want := (results.Overlap{MaxInFlight: 3, ReleaseSkewUS: 5000, IntentsOverlapped: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// Each reason for which finding nothing would prove nothing, and none where there is none.
func TestDoubt(t *testing.T) {
	o := Options{Intents: 5, Rounds: 2}
	zero, one, ten := 0, 1, 10
	sound := func() results.Run {
		return results.Run{
			Control: &results.Control{Ran: true, Strategy: "check-then-act", ForcedCharge: &results.ForcedCharge{DoubleCharged: true}},
			Counts:  &results.Counts{Intents: 10, IntentsCharged: &ten, AcquirerCounts: &results.AcquirerCounts{Rows: &zero}},
			Overlap: &results.Overlap{IntentsOverlapped: 10},
		}
	}
	for name, c := range map[string]struct {
		change func(*results.Run)
		want   string // empty: no doubt
	}{
		"none":                           {func(*results.Run) {}, ""},
		"half of the intents overlapped": {func(r *results.Run) { r.Overlap.IntentsOverlapped = 5 }, ""},
		"one intent was charged":         {func(r *results.Run) { r.Counts.IntentsCharged = &one }, ""},

		"nothing was counted":           {func(r *results.Run) { r.Counts = nil }, "no intent came to its end"},
		"no intent":                     {func(r *results.Run) { r.Counts.Intents = 0 }, "no intent came to its end"},
		"no control was run":            {func(r *results.Run) { r.Control = nil }, "no control was run"},
		"the control held":              {func(r *results.Run) { r.Control.DoubleCharged = false }, "the control check-then-act did not double-charge"},
		"stopped one intent early":      {func(r *results.Run) { r.Counts.Intents = 9 }, "stopped after 9 of 10 intents"},
		"less than half overlapped":     {func(r *results.Run) { r.Overlap.IntentsOverlapped = 4 }, "did not overlap: in 4 of 10 intents"},
		"one of the intents overlapped": {func(r *results.Run) { r.Overlap.IntentsOverlapped = 1 }, "did not overlap: in 1 of 10 intents"},
		"nothing overlapped":            {func(r *results.Run) { r.Overlap.IntentsOverlapped = 0 }, "did not overlap: in 0 of 10 intents"},
		"the acquirer approved nothing": {func(r *results.Run) { r.Counts.IntentsCharged = &zero }, "approved nothing"},
		"the rows could not be read":    {func(r *results.Run) { r.Counts.Rows = nil }, "the rows could not be read"},
	} {
		r := sound()
		c.change(&r)
		if got := doubt(r, o); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
