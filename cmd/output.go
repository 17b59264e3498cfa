package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"idemlab/internal/report"
	"idemlab/results"
	"idemlab/scenarios"
)

// outputFlags say where a result goes, for every command that measures.
type outputFlags struct {
	json    bool
	out     string
	unasked bool                                    // out is where results go by default: what cannot be kept there is no failure
	as      func(io.Writer, results.Document) error // how to print it, in place of a report
	gates   gateFlags
}

func (f *outputFlags) add(c *cobra.Command) {
	c.Flags().BoolVar(&f.json, "json", false, "print the run document, and nothing else, on stdout")
	c.Flags().StringVar(&f.out, "out", "", "keep the run document in this folder (else in results/, where the current folder has one)")
}

// prepare fails early where the result could not be kept, or a gate on it not be judged. of are the scenarios that will be run,
// where they are known.
func (f *outputFlags) prepare(of ...scenarios.Scenario) error {
	if err := f.gates.check(of); err != nil {
		return err
	}
	if f.out == "" {
		if isDir(keepDir) {
			f.out, f.unasked = keepDir, true
		}
		return nil
	}
	if err := os.MkdirAll(f.out, 0o755); err != nil {
		return usagef("--out: %w", err)
	}
	probe, err := os.CreateTemp(f.out, ".tmp-*")
	if err != nil {
		return usagef("--out: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// put judges the gates, keeps the document, writes what else was asked for, then prints it, and leaves its exit code. What
// cannot be kept is still printed.
func (a *app) put(f outputFlags, engine string, started time.Time, d results.Document) error {
	if err := f.gates.judge(&d); err != nil {
		return err
	}
	a.code = d.ExitCode
	if f.out != "" {
		path, err := d.Save(f.out, engine, started)
		switch {
		case err == nil:
			a.say("kept: %s", path)
		case f.unasked:
			a.say("not kept: %v", err)
		default:
			d = withError(d, err)
		}
		a.code = d.ExitCode
	}
	junit := f.gates.writeJUnit(d)
	a.printed = true
	if f.json {
		if err := d.Write(a.stdout); err != nil {
			return errors.Join(junit, err)
		}
	} else if f.as != nil {
		if err := f.as(a.stdout, d); err != nil {
			return errors.Join(junit, err)
		}
	} else if err := report.Text(a.stdout, d, a.terminal(a.stdout)); err != nil {
		return errors.Join(junit, fmt.Errorf("write report: %w", err))
	}
	if d.Error != nil {
		a.say("idemlab: %s", *d.Error)
	}
	return junit
}
