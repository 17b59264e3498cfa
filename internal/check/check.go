// Package check turns what happened to one intent into anomalies. It is pure: engines hand it what the clients were told,
// what the acquirer's ledger says and what rows there are, and it looks nothing up by itself.
package check

import (
	"fmt"

	"idemlab/scenarios"
)

// Attempt is how one attempt of an intent ended.
type Attempt struct {
	Answer scenarios.Answer
	HTTP   int
	Body   string
	// Died says that the attempt never answered: its session was killed, or the run was stopped.
	Died bool
	// Followup says that the attempt came after the race, when nothing was in flight.
	Followup bool
	// OtherAmount says that the attempt was sent with another amount than the intent's: it must be Mismatched.
	OtherAmount bool
}

// Row is one row of cobranca.
type Row struct {
	ID          int64
	Key         string
	OrderID     int64
	AmountCents int64
	Status      string // PROCESSANDO, CAPTURADA or RECUSADA
	HTTP        int    // resposta_http; 0 where it is NULL
	Body        string // resposta_corpo::text; empty where it is NULL
}

// Intent is everything known of one intent after its last attempt has ended.
type Intent struct {
	Attempts []Attempt
	Rows     []Row
	// CapturedCents is the money that moved, by the ledger; 0 is not compared with what the rows say.
	CapturedCents int64
	// RowsUnknown says that the rows could not be read, so that nothing is concluded from their absence.
	RowsUnknown bool
	// From the acquirer's ledger: requests that arrived, and what came of them. Captures moved money, declines did not.
	Requests, Captures, Declines int
	// Other is another charge of the same order, under a key of its own, made when the first was over. Nil where none was.
	Other *Other
}

// Other is what became of the order's other charge.
type Other struct {
	Answer             scenarios.Answer
	Captures, Declines int
}

// Finding is one anomaly of one intent, with its size and its words.
type Finding struct {
	Anomaly scenarios.Anomaly
	Count   int // how much too much or too little, in the anomaly's own unit: captures, rows or answers
	Detail  string
}

// Charge judges one intent by the invariants of the scenario charge, worst first. Nothing found is an empty slice.
func Charge(in Intent) []Finding {
	var found []Finding
	add := func(a scenarios.Anomaly, n int, format string, args ...any) {
		if n > 0 {
			found = append(found, Finding{a, n, fmt.Sprintf(format, args...)})
		}
	}
	t := tally(in)

	add(scenarios.DoubleCharge, in.Captures-1, "%d captures for one intent", in.Captures)
	if !in.RowsUnknown {
		add(scenarios.ChargedWithoutRecord, in.Captures-t.captured, "%s, %s CAPTURADA", count(in.Captures, "capture"), count(t.captured, "row"))
		if in.CapturedCents != 0 && in.Captures == t.captured && in.CapturedCents != t.capturedCents {
			add(scenarios.ChargedWithoutRecord, 1, "%d cents captured, %d recorded", in.CapturedCents, t.capturedCents)
		}
	}
	if in.Captures == 0 {
		add(scenarios.AnsweredWithoutCharge, t.toldCharged, "%s told of a charge that never happened", count(t.toldCharged, "client"))
	}
	add(scenarios.MissingCharge, refused(in, t), "no money moved: %s", t.told())
	if o := in.Other; o != nil {
		add(scenarios.DoubleCharge, o.Captures-1, "%d captures for another charge of the order", o.Captures)
		add(scenarios.MissingCharge, o.refused(), "another charge of the order, under a key of its own, was refused: told %s", o.Answer)
	}
	add(scenarios.DivergentAnswers, t.divergent(in.Captures+in.Declines > 0), "one key, different final answers: %s", t.answerList())
	if t.final() > 0 {
		add(scenarios.ErrorToDuplicate, t.failed, "%s told of an error although the intent was served", count(t.failed, "attempt"))
	}
	add(scenarios.Orphan, t.processing, "%s left PROCESSANDO", count(t.processing, "row"))
	return found
}

// refused is 1 where the intent was neither charged nor declined, although the acquirer would have answered: every attempt
// that lived was turned away. Where attempts died the client may still retry, and the money is not missing yet.
func refused(in Intent, t counts) int {
	if in.Captures == 0 && in.Declines == 0 && t.lived > 0 && t.died == 0 && t.processing == 0 {
		return 1
	}
	return 0
}

// refused is 1 where the acquirer never heard of the other charge.
func (o Other) refused() int {
	if o.Captures == 0 && o.Declines == 0 {
		return 1
	}
	return 0
}
