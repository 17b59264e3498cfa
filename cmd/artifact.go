package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"idemlab/results"
)

// writeWhole writes to a temporary file beside the path and renames it, so that no half of one is ever read.
func writeWhole(path string, write func(io.Writer) error) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name()) // after the rename there is nothing of that name
	if err := errors.Join(write(tmp), tmp.Chmod(0o644), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(tmp.Name(), path)
}

// withError adds an error to a document that holds a result all the same.
func withError(d results.Document, err error) results.Document {
	text := err.Error()
	if d.Error != nil {
		text = *d.Error + "\n" + text
	}
	d.Error, d.ExitCode = &text, worse(d.ExitCode, codeOf(err))
	return d
}

// canWriteBeside says why a file of that path could not be written.
func canWriteBeside(path string) error {
	probe, err := os.CreateTemp(filepath.Dir(path), ".tmp-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}
