package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Worst is the verdict of several runs: Violated before Inconclusive before Held, and Inconclusive where there is none.
func Worst(runs []Run) Verdict {
	worst := Held
	for _, r := range runs {
		if r.Verdict == Violated {
			return Violated
		}
		if r.Verdict != Held {
			worst = Inconclusive
		}
	}
	if len(runs) == 0 {
		return Inconclusive
	}
	return worst
}

// Write prints the document, indented, with a newline at its end.
func (d Document) Write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	if err := enc.Encode(d); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// Save keeps the document in dir, made where it is missing, under a name of its own that starts with the engine and the time
// (race-20260102T150405Z-….json), and returns the path. The file appears whole or not at all.
func (d Document) Save(dir, engine string, at time.Time) (path string, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("keep result: %w", err)
	}
	tmp, err := os.CreateTemp(dir, ".tmp-*")
	if err != nil {
		return "", fmt.Errorf("keep result: %w", err)
	}
	defer os.Remove(tmp.Name()) // after the rename there is nothing of that name
	err = errors.Join(d.Write(tmp), tmp.Chmod(0o644), tmp.Sync(), tmp.Close())
	if err != nil {
		return "", fmt.Errorf("keep result in %s: %w", dir, err)
	}
	unique := filepath.Base(tmp.Name())[len(".tmp-"):]
	path = filepath.Join(dir, fmt.Sprintf("%s-%s-%s.json", engine, at.UTC().Format("20060102T150405Z"), unique))
	if err := os.Rename(tmp.Name(), path); err != nil {
		return "", fmt.Errorf("keep result: %w", err)
	}
	return path, nil
}

// Read returns the document in r. A document of another format is an error.
func Read(r io.Reader) (Document, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Document{}, fmt.Errorf("read result: %w", err)
	}
	var d Document
	if err := json.Unmarshal(text, &d); err != nil {
		return Document{}, fmt.Errorf("read result: %w", err)
	}
	switch {
	case d.Format != Format:
		return Document{}, fmt.Errorf("read result: format %q, this version reads %q", d.Format, Format)
	case !slices.Contains([]Verdict{Held, Violated, Inconclusive}, d.Verdict):
		return Document{}, fmt.Errorf("read result: %q is no verdict", d.Verdict)
	}
	if err := d.Sweep.check(len(d.Runs)); err != nil {
		return Document{}, fmt.Errorf("read result: %w", err)
	}
	return d, printable(text)
}

// printable refuses a document whose words would steer the terminal they are printed on: it may come from anywhere.
func printable(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read result: %w", err)
		}
		if s, ok := token.(string); ok && strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }) {
			return fmt.Errorf("read result: control characters in %q", s)
		}
	}
}
