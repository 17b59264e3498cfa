package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/internal/spec"
	"idemlab/results"
	"idemlab/scenarios"
)

// runSpec runs a file in isolationtester's format: schedules written by hand, by people who speak SQL and not Go.
func (a *app) runSpec(ctx context.Context, f exploreFlags) error {
	if f.format != "text" && f.format != "isolationtester" {
		return usagef("--format=%s: say text or isolationtester", f.format)
	}
	if f.format == "isolationtester" && f.output.json {
		return usagef("--format=isolationtester and --json both want stdout: leave one out")
	}
	if f.format == "isolationtester" {
		if err := f.output.gates.refuse("--format=isolationtester, which prints no run document"); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(f.spec)
	if err != nil {
		return usagef("--spec: %w", err)
	}
	s, err := spec.Parse(string(text))
	if err != nil {
		return usagef("%s: %w", f.spec, err)
	}
	if err := f.output.prepare(); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	run, err := a.specRun(ctx, f, string(text), s)
	if run.Engine == "" {
		return err
	}
	d := document(ctx, []results.Run{run}, err)
	if f.format == "isolationtester" { // its output stands on stdout already
		a.code = d.ExitCode
		return err
	}
	return a.put(f.output, "spec", started, d)
}

func (a *app) specRun(ctx context.Context, f exploreFlags, text string, s spec.Spec) (run results.Run, err error) {
	srv, err := server.Open(ctx, f.server.options(a, len(s.Sessions)+3)) // the spec's own, its control connection, who looks, the lock
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	schema, err := srv.NewSchema(ctx, "")
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, schema.Drop(context.WithoutCancel(ctx))) }()
	if scenarios.MentionsAdvisoryLocks(text) { // another run's would be in the way of its steps
		if err := schema.TakeTurn(ctx); err != nil {
			return run, err
		}
	}
	limited := ctx
	if f.budget > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, f.budget)
		defer cancel()
	}
	name := strings.TrimSuffix(filepath.Base(f.spec), filepath.Ext(f.spec))
	o := spec.Options{Name: name, Output: io.Discard}
	if f.format == "isolationtester" {
		o.Output, o.Impossible = a.stdout, spec.Cancel
	}
	started := time.Now()
	r, err := spec.Run(limited, schema.Config(), s, o)
	for _, w := range r.Warnings {
		a.say("%s", w)
	}
	run = specDocument(srv, name, s, r, f)
	run.StartedAt, run.DurationMS = started.UTC(), results.MS(time.Since(started))
	return specEnded(ctx, limited, run, err)
}

// specEnded is check.Ended where the time may have been limited: that it is up is no error, and no violation that was seen before is undone.
func specEnded(ctx, limited context.Context, run results.Run, err error) (results.Run, error) {
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		err = nil
		if run.Verdict != results.Violated {
			run.Verdict, run.Reason, run.ExitCode = results.Inconclusive, "the budget was used up", check.ExitInconclusive
		}
	}
	return check.Ended(ctx, run, err)
}

// specDocument is a spec's run in the document: an exploration whose orders somebody else chose.
func specDocument(srv *server.Server, name string, s spec.Spec, r spec.Result, f exploreFlags) results.Run {
	info := srv.Info()
	e := results.Explore{
		Sessions: len(s.Sessions), AttemptsPerSession: 1, Search: "spec", Coverage: "exhaustive",
		Schedules: r.Count(spec.Complete), Violating: r.Violating(), Outcomes: []results.Outcome{}, Violations: []results.Violation{},
	}
	e.Bounds = fmt.Sprintf("%d sessions, every order of their steps that can happen, PostgreSQL %s", len(s.Sessions), info.Version)
	if len(s.Permutations) > 0 {
		e.Coverage = "named orders"
		e.Bounds = fmt.Sprintf("%d sessions, the %d orders that the spec names, PostgreSQL %s", len(s.Sessions), len(s.Permutations), info.Version)
	}
	if v := r.First(); v != nil {
		e.Violations = append(e.Violations, results.Violation{
			Schedule: v.Permutation.String(), Anomaly: invariantViolated, Detail: v.Invariant + "\n" + v.Rows,
		})
		e.ShortestViolation = &e.Violations[0]
	}
	run := results.Run{
		Engine: "explore", Scenario: "spec", Strategy: name, Status: results.Complete,
		Server:    results.Server{Version: info.Version, Source: info.Source, Isolation: "read committed", Settings: info.Settings, NotDurable: info.NotDurable},
		Tool:      results.Tool{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Anomalies: []results.Anomaly{}, Explore: &e,
	}
	doubt := r.Reason
	if r.Verdict == results.Held { // it says within what
		doubt = ""
	}
	expect := check.Expectation(f.common.expect)
	run.Verdict, run.Expected, run.ExitCode = check.Plain(expect, e.Violating > 0, doubt)
	run.Reason = r.Reason
	if len(s.Invariants) == 0 && f.format == "isolationtester" {
		run.ExitCode = exitHeld // nothing was to be judged: the output is what was asked for
	}
	return run
}

// invariantViolated stands where a scenario has an anomaly: the spec says in SQL what must not be.
const invariantViolated = "invariant"
