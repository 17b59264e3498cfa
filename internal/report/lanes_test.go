package report

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"idemlab/results"
)

// openTx is an order in which a duplicate waits for the first attempt's transaction, dies, and its retry is answered.
func openTx() results.Trace {
	rows := []string{"#1 CAPTURADA"}
	return results.Trace{AmountCents: 25000, Sessions: []string{"client", "client"}, Turns: []results.Turn{
		{Session: "A", Kind: results.TurnStep, Step: "claim", Result: "1 row"},
		{Session: "B", Kind: results.TurnStep, Step: "claim", WaitsFor: []string{"A"}},
		{Session: "A", Kind: results.TurnStep, Step: "capture", Result: "captured", Captures: 1},
		{Session: "A", Kind: results.TurnStep, Step: "record", Result: "1 row", Captures: 1},
		{Session: "A", Kind: results.TurnStep, Step: "commit", Result: "ok", Captures: 1, Table: rows,
			Woke: []results.Woken{{Session: "B", Step: "claim", Result: "0 rows"}}},
		{Session: "A", Kind: results.TurnAnswer, Captures: 1, Table: rows,
			Answers: []results.Told{{Session: "A", Attempt: 1, Answer: "charged", HTTP: 201}}},
		{Session: "B", Kind: results.TurnDies, Step: "read", Captures: 1, Table: rows,
			Answers: []results.Told{{Session: "B", Attempt: 1, Died: true}}},
		{Session: "B", Kind: results.TurnLostReply, Step: "capture", Captures: 2, Table: rows,
			Answers: []results.Told{{Session: "B", Attempt: 2, Answer: "failed", HTTP: 500, SQLState: "40001"}}},
	}}
}

const openTxPicture = `
    session A            session B            table, outside acquirer
 1  * claim -> 1 row
 2  |                    o claim waits for A
 3  * capture            :                                   <- R$ 250.00 (1st)
 4  * record -> 1 row    :
 5  * commit -> ok       :                    #1 CAPTURADA
    |                    > claim -> 0 rows
    = 201 charged        |
 7                       + dies before read
 8                       ? reply lost                        <- R$ 250.00 (2nd)!
                         = 500 failed 40001
`

func lanes(t *testing.T, trace results.Trace, s Style) string {
	t.Helper()
	var b bytes.Buffer
	if err := Lanes(&b, trace, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLanesTellTheStory(t *testing.T) {
	if got := "\n" + lanes(t, openTx(), Style{Width: 80, ASCII: true}); got != openTxPicture {
		t.Errorf("%s", got)
	}
}

// A capture for another wish is none too many; the next one for either is.
func TestLanesCountByWish(t *testing.T) {
	capture := func(captures, wishes int) results.Turn {
		return results.Turn{Session: "A", Kind: results.TurnStep, Step: "capture", Captures: captures, Wishes: wishes}
	}
	trace := results.Trace{AmountCents: 25000, Sessions: []string{"client"}, Turns: []results.Turn{capture(1, 0), capture(2, 2), capture(3, 2)}}
	got := lanes(t, trace, Style{Width: 80, ASCII: true})
	if !strings.Contains(got, "(2nd)\n") || !strings.Contains(got, "(3rd)!") {
		t.Errorf("%s", got)
	}
}

func TestLanesFitTheTerminal(t *testing.T) {
	for _, sessions := range []int{1, 2, 3, 4} {
		trace := openTx()
		trace.Sessions = trace.Sessions[:0]
		for range sessions {
			trace.Sessions = append(trace.Sessions, "client")
		}
		for _, width := range []int{40, 80, 100, 200} {
			for line := range strings.Lines(lanes(t, trace, Style{Width: width})) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(width, narrowest) {
					t.Errorf("%d sessions at %d columns: a line of %d: %q", sessions, width, n, line)
				}
			}
		}
	}
	ascii := lanes(t, openTx(), Style{Width: 80, ASCII: true})
	if strings.ContainsFunc(ascii, func(r rune) bool { return r > 126 }) {
		t.Error("signs beyond ASCII")
	}
	if plain, colour := lanes(t, openTx(), Style{Width: 80}), lanes(t, openTx(), Style{Width: 80, Color: true}); strip(colour) != plain || colour == plain {
		t.Error("colour changes more than colour")
	}
}
