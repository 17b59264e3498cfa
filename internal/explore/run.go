package explore

import (
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

const (
	// tries is how often an execution that does not repeat itself is run again before the search gives up. Where two waiters race
	// for what one COMMIT gave back, each try is the toss of a coin.
	tries = 50
	// probes is how many schedules are run before a reduced search, cheapest first: most violations show among the first few.
	probes = 32
	// mostProbes bounds the proof that a violation is the shortest.
	mostProbes = 5000
)

// Run explores, on the server and with the search path of config, where the tables are. It runs until the search is through,
// a limit of o is reached, or ctx ends; what was found until then is in the Result in each case. The error is about the
// run, not about the strategy. Nothing is left behind: no connection, no stopped backend, no changed setting.
func Run(ctx context.Context, config *pgx.ConnConfig, o Options) (_ Result, err error) {
	started := time.Now()
	e, err := open(ctx, config, o)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, e.close(ctx)) }() // also after a panic
	x := newExploration(e, started)
	err = x.run(ctx)
	if err == nil && ctx.Err() == nil {
		err = x.settleError(ctx, e.outlived(ctx))
	}
	x.conclude()
	return x.result, err
}

// exploration is a run under way.
type exploration struct {
	e       *engine
	started time.Time
	result  Result
	count   map[string]int // outcome key to its place in result.Outcomes
	probed  map[string]bool
	best    map[scenarios.Anomaly]*Violation
	print   hash.Hash64
}

func newExploration(e *engine, started time.Time) *exploration {
	return &exploration{
		e: e, started: started, count: map[string]int{}, probed: map[string]bool{}, best: map[scenarios.Anomaly]*Violation{},
		print: fnv.New64a(),
		result: Result{
			Options: e.o, ServerVersion: e.version, Isolation: string(e.isolation), Split: !e.o.NoSplit,
			Notices: e.notices, WakeOneByOne: e.stops, classes: map[string]map[string]bool{}, keys: map[string]bool{},
		},
	}
}

func (x *exploration) run(ctx context.Context) error {
	var err error
	switch x.e.o.Search {
	case Full:
		s := schedule.NewFull()
		err = x.search(ctx, s)
		x.cheapestFirst(s)
	case Random:
		err = x.search(ctx, schedule.NewRandom(x.e.o.Seed))
	case DPOR:
		err = x.reduced(ctx)
	default:
		return fmt.Errorf("explore: no search is called %q: there are %s, %s and %s", x.e.o.Search, DPOR, Full, Random)
	}
	return x.settleError(ctx, err)
}

// settleError sorts out what ended the run: the strategy's doing makes it inconclusive, a limit cuts it, the rest is an error.
func (x *exploration) settleError(ctx context.Context, err error) error {
	var cut cutError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		x.result.Cut = "interrupted"
		return nil
	case errors.As(err, &cut):
		x.result.Cut = string(cut)
		return nil
	case errors.Is(err, schedule.ErrDiverged):
		x.result.Cut, x.result.Inconclusive = "diverged", err.Error()
		return nil
	case errors.Is(err, errLate), errors.Is(err, errKept):
		if x.result.Inconclusive == "" { // else that is where to look first
			x.result.Cut, x.result.Inconclusive = "ungated", err.Error()
		}
		clear(x.best)
		return nil
	case unordered(err):
		x.result.Cut, x.result.Inconclusive = "ungated", strings.ReplaceAll(err.Error(), "\n", "; ")+ // two, where clearing up failed as well
			fmt.Sprintf("; a race can tell: idemlab race --strategy=%s", x.e.o.Strategy.Name)
		return nil
	case errors.Is(err, errOracle):
		x.result.Cut, x.result.Inconclusive, x.result.OracleDiffers = "void", err.Error(), err.Error()
		return nil
	case errors.Is(err, errReduction):
		x.result.Cut, x.result.Inconclusive = "void", err.Error()
		return nil
	}
	return err
}

// unordered says that the strategy does what cannot be put into an order: that says something of it, and nothing of the run.
func unordered(err error) bool { return errors.Is(err, errUngated) || errors.Is(err, errElsewhere) }

// cutError says which limit ended the search.
type cutError string

func (c cutError) Error() string { return "cut: " + string(c) }

// search runs s to its end or a limit.
func (x *exploration) search(ctx context.Context, s schedule.Search) error {
	for s.More() {
		if err := x.limit(); err != nil {
			return err
		}
		j, err := x.one(ctx, s)
		if err != nil {
			return err
		}
		x.note(j)
	}
	x.result.Complete = true
	return nil
}

func (x *exploration) limit() error {
	o := x.e.o
	switch {
	case len(o.Enough) > 0 && x.found(o.Enough):
		return cutError("enough")
	case o.MaxSchedules > 0 && x.result.Schedules+x.result.Redundant >= o.MaxSchedules:
		if o.Search == Random {
			return cutError("sampled")
		}
		return cutError("schedules")
	case o.Budget > 0 && time.Since(x.started) > o.Budget:
		if o.Search == Random {
			return cutError("sampled")
		}
		return cutError("budget")
	}
	return nil
}

// found says whether each of the anomalies has a violation.
func (x *exploration) found(all []scenarios.Anomaly) bool {
	for _, a := range all {
		if x.best[a] == nil {
			return false
		}
	}
	return true
}

// judged is a run with what it came to.
type judged struct {
	run     schedule.Run
	outcome Outcome
	trace   []Turn
}

// one makes the search's next run. A run that does not repeat an earlier one up to where it means to differ is made again:
// where waiters cannot be let go one by one, which comes first is PostgreSQL's choice.
func (x *exploration) one(ctx context.Context, s schedule.Search) (judged, error) {
	for try := 1; ; try++ {
		j, err := x.e.once(ctx, func(ctx context.Context, w *world) (schedule.Run, error) { return s.Run(ctx, w) })
		if err == nil || !errors.Is(err, schedule.ErrDiverged) {
			return j, err
		}
		x.result.Divergences++
		if try == tries {
			return j, err
		}
	}
}

// once makes a world, drives it, judges how it ended, and clears up.
func (e *engine) once(ctx context.Context, drive func(context.Context, *world) (schedule.Run, error)) (j judged, err error) {
	w, err := e.newWorld(ctx)
	defer func() { // also after a panic
		err = errors.Join(err, w.finish(ctx))
	}()
	if err != nil {
		return judged{}, err
	}
	if j.run, err = drive(ctx, w); err != nil {
		j.trace = w.trace
		return j, err
	}
	if err := w.ungated.Load(); err != nil {
		j.trace = w.trace
		return j, *err
	}
	if e.late.Load() { // in a world before this one
		return judged{}, errLate
	}
	w.recalled()
	outcome, rows, err := w.outcome(ctx)
	if err != nil {
		return judged{}, err
	}
	w.rows = rows
	if e.o.Progress != nil {
		e.o.Progress.Add(1)
	}
	j.outcome, j.trace = outcome, w.trace
	if !j.run.Redundant {
		err = w.secondOpinion(outcome)
	}
	return j, err
}
