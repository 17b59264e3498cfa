package scenarios

// chargeModel is a service that takes one request after another, moves the money at most once, and gives every client the
// same final answer. What a client is told that is not final (409, 5xx, nothing) says nothing of whether the money moved.
var chargeModel = Model{
	Init:    func(Intent) any { return chargeState{} },
	Attempt: func(state any, a Attempt) []any { return state.(chargeState).attempted(a) },
	End: func(state any, in Intent) bool {
		return in.Captures <= 1 && (in.Captures == 1) == state.(chargeState).charged
	},
	Sees: []Anomaly{DoubleCharge, AnsweredWithoutCharge, DivergentAnswers},
}

// chargeState is whether money moved, and the one final answer, once somebody was told it.
type chargeState struct {
	charged, final bool
	http           int
	body           string
}

func (s chargeState) attempted(a Attempt) []any {
	final := (a.Answer == Charged || a.Answer == Replayed || a.Answer == Declined) && a.HTTP < 500 // a stored error is told again, and says no more
	if a.Died || !final {
		moved := s
		moved.charged = true
		return []any{s, moved}
	}
	if s.final {
		if s.http != a.HTTP || s.body != a.Body {
			return nil
		}
		return []any{s}
	}
	money := a.HTTP >= 200 && a.HTTP < 300
	if !money && s.charged || a.Answer == Replayed && money && !s.charged {
		return nil // told "no" after money moved; told "again" before there was a first time
	}
	return []any{chargeState{money, true, a.HTTP, a.Body}}
}
