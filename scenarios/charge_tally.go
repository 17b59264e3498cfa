package scenarios

import (
	"fmt"
	"strings"
)

// counts is an intent's attempts and rows, added up.
type counts struct {
	lived, died          int
	failed               int // told of an error
	toldCharged          int // told, first or again, that money moved
	otherAmount          int // follow-ups with another amount that were not refused
	otherTold            Answer
	notReplayed          int // follow-ups with the same request that were not told the stored answer
	repeatTold           Answer
	finals               []finalAnswer  // the distinct final answers, in the order first seen
	answers              map[string]int // by kind, of the attempts that lived
	captured, processing int            // rows
	capturedCents        int64          // by the rows
}

type finalAnswer struct {
	http int
	body string
}

func tally(in Intent) counts {
	t := counts{answers: map[string]int{}}
	for _, a := range in.Attempts {
		if a.Died {
			t.died++
			continue
		}
		t.lived++
		t.answers[string(a.Answer)]++
		t.add(a)
		t.followUp(a)
	}
	for _, r := range in.Rows {
		switch r.Status {
		case "CAPTURADA":
			t.captured++
			t.capturedCents += r.AmountCents
		case "PROCESSANDO":
			t.processing++
		}
	}
	return t
}

func (t *counts) add(a Attempt) {
	switch a.Answer {
	case Failed:
		t.failed++
	case Charged, Replayed, Declined:
		if a.OtherAmount {
			return // followUp sees to it
		}
		if a.HTTP >= 500 {
			return // an error that was stored is told again, and says of the money what it said the first time: nothing
		}
		if a.HTTP >= 200 && a.HTTP < 300 {
			t.toldCharged++
		}
		f := finalAnswer{a.HTTP, a.Body}
		for _, known := range t.finals {
			if known == f {
				return
			}
		}
		t.finals = append(t.finals, f)
	}
}

// followUp looks at what came after the race, when nothing was in flight: a repeat must be replayed, and the key with another
// amount must be refused, whatever happened before.
func (t *counts) followUp(a Attempt) {
	switch {
	case a.Answer == Failed: // an error is counted as one
	case a.OtherAmount && a.Answer != Mismatched:
		t.otherAmount, t.otherTold = t.otherAmount+1, a.Answer
	case a.Followup && !a.OtherAmount && a.Answer != Replayed:
		t.notReplayed, t.repeatTold = t.notReplayed+1, a.Answer
	}
}

// final is how many different final answers the key got.
func (t counts) final() int { return len(t.finals) }

// divergent counts the answers that are not what the key's first one was: final answers beyond it, other amounts that were not
// refused (the same key then stands for two different operations), and, where the intent came to an end, a repeat that was
// not told of it. A row left PROCESSANDO is no end: a repeat is rightly told to wait.
func (t counts) divergent(ended bool) int {
	n := max(0, len(t.finals)-1) + t.otherAmount
	if ended && t.processing == 0 {
		n += t.notReplayed
	}
	return n
}

func (t counts) answerList() string {
	const most = 3
	var parts []string
	for i, f := range t.finals {
		if i == most {
			parts = append(parts, fmt.Sprintf("… %d in all", len(t.finals)))
			break
		}
		parts = append(parts, fmt.Sprintf("%d %s", f.http, f.body))
	}
	if t.otherAmount > 0 {
		parts = append(parts, fmt.Sprintf("the key with another amount was told %s", t.otherTold))
	}
	if t.notReplayed > 0 {
		parts = append(parts, fmt.Sprintf("a repeat with nothing in flight was told %s", t.repeatTold))
	}
	return strings.Join(parts, "; ")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (t counts) told() string {
	var parts []string
	for _, a := range Answers() {
		if n := t.answers[string(a)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, a))
		}
	}
	return strings.Join(parts, ", ")
}
