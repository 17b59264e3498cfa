package stored

import (
	"context"
	"errors"
	"runtime"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/internal/attempt"
	"idemlab/internal/check"
	"idemlab/internal/recovery"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// Run plays it for one policy. The result is worth reading on an error too.
func Run(ctx context.Context, srv *server.Server, o Options) (run results.Run, err error) {
	run = o.describe(srv)
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()
	for _, decline := range []bool{true, false} { // the last one is judged: where all is declined there is nothing to charge twice
		if err == nil {
			err = o.play(ctx, srv, decline, &run)
		}
	}
	run.Stored.Cells = inOrder(run.Stored.Cells)
	return attempt.Ended(ctx, run, err)
}

// story is one acquirer's cells under way.
type story struct {
	lab   *attempt.Lab
	cells []*cell
}

type cell struct {
	*attempt.Intent
	results.StoredCell
}

func (o Options) play(ctx context.Context, srv *server.Server, decline bool, run *results.Run) (err error) {
	c := attempt.Config{Strategy: o.Policy.Strategy, Isolation: o.Isolation, Seed: o.Seed, DDL: o.DDL}
	if decline {
		c.Acquirer = acquirer.Options{DeclineShare: 1}
	}
	s := story{}
	if s.lab, err = attempt.New(ctx, srv, c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.lab.Close(ctx)) }()
	if o.Columns && !decline {
		if run.Stored.Columns, err = Columns(ctx, s.lab.Aside); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{
		func(ctx context.Context) error { return s.first(ctx, o, decline) }, s.retry, s.reconcile,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if !decline {
		end, err := s.lab.Tally(ctx, "")
		if err != nil {
			return err
		}
		never, shows := o.claims()
		s.lab.Judge(run, end, o.Expect, never, shows, attempt.Doubt(o.Control, end))
	}
	if err := s.fresh(ctx); err != nil {
		return err
	}
	for _, c := range s.cells {
		run.Stored.Cells = append(run.Stored.Cells, c.StoredCell)
	}
	return nil
}

func (s *story) first(ctx context.Context, o Options, decline bool) error {
	for _, out := range outcomes() {
		if out.decline != decline {
			continue
		}
		it, err := s.lab.Intent(ctx)
		if err != nil {
			return err
		}
		a, err := s.lab.Try(ctx, it, it.Request, out.befalls)
		if err != nil {
			return err
		}
		s.cells = append(s.cells, &cell{Intent: it, StoredCell: results.StoredCell{Outcome: out.name, First: told(a)}})
		if o.Done != nil {
			o.Done.Add(1)
		}
	}
	return nil
}

func (s *story) retry(ctx context.Context) error {
	for _, c := range s.cells {
		a, err := s.lab.Try(ctx, c.Intent, c.Request, attempt.Nothing)
		if err != nil {
			return err
		}
		first := c.Attempts[0]
		c.Retry, c.SameBytes = told(a), a.HTTP == first.HTTP && a.Body == first.Body && a.Answer == scenarios.Replayed
		n := s.lab.Acquirer.Counts()[c.Request.Key]
		c.Captures, c.Requests = n.Captures, n.Requests
	}
	return nil
}

// reconcile makes one pass, to which every lease is over, and has the clients ask again.
func (s *story) reconcile(ctx context.Context) error {
	report, err := recovery.Reconcile(ctx, s.lab.Aside, s.lab.Acquirer.For("reconciler"), recovery.Options{})
	if err != nil {
		return err
	}
	for _, c := range s.cells {
		for _, o := range report.Orphans {
			if o.Key == c.Request.Key && !o.Fate.Left() {
				c.FoundByIt++
			}
		}
		a, err := s.lab.Try(ctx, c.Intent, c.Request, attempt.Nothing)
		if err != nil {
			return err
		}
		c.Reconciled = told(a)
	}
	return nil
}

// fresh makes every charge once more under a new key. The ledger books it apart, and whether it should have been made is for the reader
// to say.
func (s *story) fresh(ctx context.Context) error {
	for _, c := range s.cells {
		again := s.lab.Another(c.Intent)
		a, err := s.lab.Try(ctx, again, again.Request, attempt.Nothing)
		if err != nil {
			return err
		}
		c.Fresh, c.FreshCaptures = told(a), s.lab.Acquirer.Counts()[again.Request.Key].Captures
	}
	return nil
}

func told(a scenarios.Attempt) results.StoredTold {
	return results.StoredTold{Answer: string(a.Answer), HTTP: a.HTTP}
}

// inOrder sorts the cells by their outcomes.
func inOrder(cells []results.StoredCell) []results.StoredCell {
	sorted := []results.StoredCell{}
	for _, out := range outcomes() {
		for _, c := range cells {
			if c.Outcome == out.name {
				sorted = append(sorted, c)
			}
		}
	}
	return sorted
}

// describe starts the document of a run: what was asked for, and of whom.
func (o Options) describe(srv *server.Server) results.Run {
	info := srv.Info()
	return results.Run{
		Engine: "stored", Scenario: o.Policy.Strategy.Scenario().Name, Strategy: o.Policy.Strategy.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Seed: o.Seed, Control: o.Control,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(o.Isolation),
			Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool:      results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Stored:    &results.Stored{Policy: o.Policy.Name, Cells: []results.StoredCell{}},
		Anomalies: []results.Anomaly{},
	}
}
