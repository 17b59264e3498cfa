package cmd

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"idemlab/internal/report"
	"idemlab/results"
)

func TestWalkFollowsTheKeys(t *testing.T) {
	trace := results.Trace{Sessions: []string{"client"}, Turns: []results.Turn{
		{Session: "A", Kind: results.TurnStep, Step: "check", SQL: "SELECT cobranca", Attempt: 1},
		{Session: "A", Kind: results.TurnStep, Step: "capture", Attempt: 1, Captures: 1},
		{Session: "A", Kind: results.TurnStep, Step: "insert", Attempt: 1, Captures: 1},
	}}
	for keys, want := range map[string]string{
		"":              "1",
		"q":             "1",
		"nq":            "1 2",
		"n pq":          "1 2 3 2",
		"\r\rnnq":       "1 2 3 3 3",
		"ppq":           "1 1 1",
		"\x1b[C\x1b[Dq": "1 2 1",
		"x\x1bq":        "1 1 1", // an unknown key, and an escape that is no arrow, which eats what follows
		"n\x03nnn":      "1 2",
	} {
		var out bytes.Buffer
		err := walk(strings.NewReader(keys), &out, trace, report.Style{Width: 80})
		if interrupted := strings.Contains(keys, "\x03"); interrupted != errors.Is(err, context.Canceled) || !interrupted && err != nil {
			t.Errorf("keys %q: %v", keys, err)
		}
		var seen []string
		for _, screen := range strings.Split(out.String(), "\x1b[2J\x1b[H")[1:] {
			_, rest, _ := strings.Cut(screen, "\nturn ")
			n, _, _ := strings.Cut(rest, " of 3")
			seen = append(seen, n)
			if strings.Contains(strings.ReplaceAll(screen, "\r\n", ""), "\n") {
				t.Error("a bare line feed in raw mode")
			}
		}
		if got := strings.Join(seen, " "); got != want {
			t.Errorf("keys %q showed %s, want %s", keys, got, want)
		}
	}
}
