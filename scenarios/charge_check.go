package scenarios

import "fmt"

// checkCharge judges one intent by the invariants of the scenario charge.
func checkCharge(in Intent) []Finding {
	var found []Finding
	add := func(a Anomaly, n int, format string, args ...any) {
		if n > 0 {
			found = append(found, Finding{a, n, fmt.Sprintf(format, args...)})
		}
	}
	t, w := tally(in), in.Effect.Words()

	add(DoubleCharge, in.Captures-1, "%s for one intent", w.count(in.Captures))
	if !in.RowsUnknown {
		add(ChargedWithoutRecord, in.Captures-t.captured, "%s, %s CAPTURADA", w.count(in.Captures), count(t.captured, "row"))
		if in.CapturedCents != 0 && in.Captures == t.captured && in.CapturedCents != t.capturedCents {
			add(ChargedWithoutRecord, 1, "%d cents %s, %d recorded", in.CapturedCents, w.Amount, t.capturedCents)
		}
	}
	if in.Captures == 0 {
		add(AnsweredWithoutCharge, t.toldCharged, "%s told of %s", count(t.toldCharged, "client"), w.Untrue)
	}
	add(MissingCharge, refused(in, t), "%s: %s", w.Nothing, t.told())
	if o := in.Other; o != nil {
		add(DoubleCharge, o.Captures-1, "%s for another charge of the order", w.count(o.Captures))
		add(MissingCharge, o.refused(), "another charge of the order, under a key of its own, was refused: told %s", o.Answer)
	}
	add(DivergentAnswers, t.divergent(in.Captures+in.Declines > 0), "one key, different final answers: %s", t.answerList())
	if t.final() > 0 {
		add(ErrorToDuplicate, t.failed, "%s told of an error although the intent was served", count(t.failed, "attempt"))
	}
	add(Orphan, t.processing, "%s left PROCESSANDO", count(t.processing, "row"))
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
