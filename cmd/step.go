package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"idemlab/internal/report"
	"idemlab/results"
)

// step walks through a schedule on the terminal, key by key.
func (a *app) step(ctx context.Context, t results.Trace) error {
	in, err := a.keyboard()
	if err != nil {
		return err
	}
	before, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("take keys one by one: %w", err)
	}
	defer term.Restore(int(in.Fd()), before)
	walked := make(chan error, 1)
	go func() { walked <- walk(bufio.NewReader(in), a.stdout, t, a.terminal(a.stdout)) }()
	select {
	case err := <-walked:
		return err
	case <-ctx.Done(): // the goroutine waits for a key that nobody needs any more, and goes with the process
		return ctx.Err()
	}
}

// keyboard is the terminal to take keys from.
func (a *app) keyboard() (*os.File, error) {
	in, ok := a.stdin.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) || !isTerminal(a.stdout) {
		return nil, usagef("--step needs a terminal: leave it out, and the whole picture is printed")
	}
	return in, nil
}

// Keys, as a raw terminal sends them. An arrow is three bytes: escape, bracket, letter.
const (
	ctrlC  = 3
	ctrlD  = 4
	escape = 27
)

// walk shows the first n turns and moves n by the keys: n, space, enter or right for one more; p or left for one less; q ends.
func walk(keys io.ByteReader, w io.Writer, t results.Trace, s report.Style) error {
	for n := 1; ; {
		if err := show(w, t, n, s); err != nil {
			return err
		}
		key, err := keys.ReadByte()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a key: %w", err)
		}
		if key == escape {
			key = arrow(keys)
		}
		switch key {
		case 'n', ' ', '\r', 'C':
			n = min(n+1, len(t.Turns))
		case 'p', 'b', 'D':
			n = max(n-1, 1)
		case 'q', ctrlD:
			return nil
		case ctrlC: // no signal comes of it on a raw terminal
			return context.Canceled
		}
	}
}

func arrow(keys io.ByteReader) byte {
	if b, err := keys.ReadByte(); err != nil || b != '[' {
		return 0
	}
	letter, err := keys.ReadByte()
	if err != nil {
		return 0
	}
	return letter
}

// show draws on a cleared screen. In raw mode a line feed does not return the carriage.
func show(w io.Writer, t results.Trace, n int, s report.Style) error {
	var b strings.Builder
	part := t
	part.Turns = t.Turns[:min(n, len(t.Turns))]
	if err := report.Lanes(&b, part, s); err != nil {
		return err
	}
	if len(part.Turns) > 0 {
		turn := part.Turns[len(part.Turns)-1]
		fmt.Fprintf(&b, "\n%s, attempt %d, %s: %s\n", turn.Session, turn.Attempt, turn.Step, turn.SQL)
	}
	fmt.Fprintf(&b, "\nturn %d of %d · n: next · p: back · q: on\n", len(part.Turns), len(t.Turns))
	_, err := io.WriteString(w, "\x1b[2J\x1b[H"+strings.ReplaceAll(b.String(), "\n", "\r\n"))
	return err
}
