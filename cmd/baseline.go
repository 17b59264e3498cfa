package cmd

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"idemlab/internal/compare"
	"idemlab/results"
)

// baselineFlags hold a run to one that was recorded earlier.
type baselineFlags struct {
	file    string
	options compareFlags
	flags   interface{ Changed(string) bool }
	old     []results.Run
}

func (f *baselineFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "baseline", "", "compare with the runs in this document, or folder of documents, and fail (exit code 1) on a regression")
	f.options.add(c, "baseline-")
	f.flags = c.Flags()
}

// check reads the baseline, so that what cannot be compared with fails before anything runs.
func (f *baselineFlags) check(engines []string) error {
	if f.flags == nil { // the command has none
		return nil
	}
	if f.file == "" {
		for _, name := range []string{"baseline-tolerance", "baseline-force"} {
			if f.flags.Changed(name) {
				return usagef("--%s says how to compare, and nothing says with what: name a document with --baseline", name)
			}
		}
		return nil
	}
	if err := f.options.check("baseline-"); err != nil {
		return err
	}
	var err error
	if f.old, err = readRuns(f.file); err != nil {
		return usagef("--baseline %s: %w", f.file, err)
	}
	f.old = slices.DeleteFunc(f.old, func(r results.Run) bool { return !slices.Contains(engines, r.Engine) })
	if len(f.old) == 0 {
		return usagef("--baseline %s: it holds no run of %s to compare with; record one with --out or --json", f.file, strings.Join(engines, " or "))
	}
	return nil
}

// judge writes into each run how it compares, and lets exit codes follow: a regression is 1, and where nothing at all could be
// compared it is 4.
func (f *baselineFlags) judge(d *results.Document) error {
	if f.file == "" || len(d.Runs) == 0 {
		return nil
	}
	groups, _, err := compare.Runs(f.old, d.Runs, f.options.with(f.file))
	if err != nil {
		return err
	}
	nothing := !slices.ContainsFunc(groups, func(g compare.Group) bool { return g.Baseline.Outcome != results.NotCompared })
	for _, g := range groups {
		for _, i := range g.Runs {
			base := g.Baseline
			d.Runs[i].Baseline = &base
			also(&d.Runs[i], baselineCode(base.Outcome, nothing))
			d.ExitCode = worse(d.ExitCode, d.Runs[i].ExitCode)
		}
	}
	return nil
}

func baselineCode(o results.BaselineOutcome, nothing bool) int {
	switch {
	case o == results.Regression:
		return exitViolated
	case nothing:
		return exitInconclusive
	}
	return exitHeld
}

// compareFlags say how runs are compared.
type compareFlags struct {
	tolerance float64
	force     bool
}

func (f *compareFlags) add(c *cobra.Command, prefix string) {
	c.Flags().Float64Var(&f.tolerance, prefix+"tolerance", 10, "percent by which a number may be worse")
	c.Flags().BoolVar(&f.force, prefix+"force", false, "compare numbers also where a setting that shapes them differs")
}

func (f *compareFlags) check(prefix string) error {
	if math.IsNaN(f.tolerance) || f.tolerance < 0 || f.tolerance > 1000 {
		return usagef("--%stolerance %v: say 0 to 1000, in percent", prefix, f.tolerance)
	}
	return nil
}

func (f *compareFlags) with(source string) compare.Options {
	return compare.Options{Source: source, Tolerance: f.tolerance / 100, Force: f.force}
}

// readRuns reads the runs of a document, or of every document in a folder.
func readRuns(path string) ([]results.Run, error) {
	files, folder := []string{path}, isDir(path)
	if folder {
		var err error
		if files, err = filepath.Glob(filepath.Join(glob(path), "*.json")); err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("there is no document (*.json) in this folder")
		}
	}
	var runs []results.Run
	for _, file := range files {
		d, err := readDocument(file)
		if err != nil && folder {
			err = fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		if err != nil {
			return nil, err
		}
		runs = append(runs, d.Runs...)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("no run in it came about")
	}
	return runs, nil
}

// glob is the path with nothing in it that a pattern would mean something by.
func glob(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

func readDocument(file string) (results.Document, error) {
	f, err := os.Open(file)
	if err != nil {
		return results.Document{}, err
	}
	defer f.Close()
	return results.Read(f)
}
