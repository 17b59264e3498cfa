package scenarios

import (
	"fmt"
	"strings"
)

// counts is an intent's attempts and rows, added up.
type counts struct {
	lived, died          int
	failed               int            // told of an error
	toldCharged          int            // told, first or again, that money moved
	otherAmount          int            // follow-ups with another amount that were answered as if it were the intent's
	finals               []finalAnswer  // the distinct final answers, in the order first seen
	answers              map[string]int // by kind, of the attempts that lived
	captured, processing int            // rows
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
	}
	for _, r := range in.Rows {
		switch r.Status {
		case "CAPTURADA":
			t.captured++
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
			t.otherAmount++
			return
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

// final is how many different final answers the key got.
func (t counts) final() int { return len(t.finals) }

// divergent counts the answers too many: final answers beyond the first, and other amounts answered as if they were the
// intent's own (the same key then stands for two different operations).
func (t counts) divergent() int {
	return max(0, len(t.finals)-1) + t.otherAmount
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
		parts = append(parts, fmt.Sprintf("another amount answered as if it were the first, %d times", t.otherAmount))
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
