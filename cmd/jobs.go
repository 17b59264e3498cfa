package cmd

import (
	"fmt"
	"slices"
	"strings"

	"idemlab/internal/purge"
	"idemlab/internal/recovery"
	"idemlab/scenarios"
)

// jobs are what can run beside attempts.
func jobs() []scenarios.Job { return append(recovery.Jobs(), purge.Jobs()...) }

func jobNames() []string {
	var names []string
	for _, j := range jobs() {
		names = append(names, j.Name)
	}
	return names
}

// jobLines are the jobs for help, a line each.
func jobLines() string {
	var lines []string
	for _, j := range jobs() {
		lines = append(lines, fmt.Sprintf("  %-16s %s", j.Name, j.Title))
	}
	return strings.Join(lines, "\n")
}

// jobsOf looks names up, in the order in which they were typed.
func jobsOf(names []string) ([]scenarios.Job, error) {
	var chosen []scenarios.Job
	for _, name := range names {
		if slices.ContainsFunc(chosen, func(j scenarios.Job) bool { return j.Name == name }) {
			return nil, usagef("--beside: %s stands there twice", name)
		}
		known := len(chosen)
		for _, j := range jobs() {
			if j.Name == name {
				chosen = append(chosen, j)
			}
		}
		if len(chosen) == known {
			return nil, usagef("--beside=%s: there are %s", name, strings.Join(jobNames(), ", "))
		}
	}
	return chosen, nil
}
