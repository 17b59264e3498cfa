package explore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/schedule"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/results"
	"idemlab/scenarios"
)

// Case is one strategy to explore, on tables of its own, and what its verdict is measured by.
type Case struct {
	Scenario scenarios.Scenario
	Options  Options // the strategy is in there
	DDL      string  // of schema.sql or what stands for it
	Expect   check.Expectation
	Schedule schedule.Schedule // nil: search; else follow this one order
	// Shared says that other cases run on the same server at the same time, so that nothing server-wide may be touched even where
	// the server is ours.
	Shared   bool
	Recorded *results.Trace // what that order led to before, to be compared; may be nil
	Controls *Controls      // of cases that were run before on the same server, so that one is enough for all of a kind; may be nil
}

// Run explores and judges. The result is worth reading on an error too. Where the context ended it is Aborted, without an error.
func (c Case) Run(ctx context.Context, srv *server.Server) (results.Run, error) {
	c.Options.Scenario = c.Scenario
	c.Options.OwnCluster = srv.Info().Embedded && !c.Shared
	run := c.describe(srv)
	started := time.Now()
	run.StartedAt = started.UTC()
	err := c.fill(ctx, srv, &run)
	run.DurationMS = results.MS(time.Since(started))
	return check.Ended(ctx, run, err)
}

// fill explores and judges. The control comes first: on a server where a double charge cannot be shown, finding none proves
// nothing.
func (c Case) fill(ctx context.Context, srv *server.Server, run *results.Run) (err error) {
	never, shows := c.claims()
	var doubt string
	if mayHold := c.Expect == check.ExpectHeld || len(never) > 0 || len(shows) == 0; mayHold && c.Schedule == nil {
		control, err := c.Controls.explored(ctx, srv, c)
		if err != nil {
			return fmt.Errorf("control: %w", err)
		}
		run.Control, doubt = &control.Control, control.doubt
	}
	schema, err := tables.Create(ctx, srv, c.DDL, c.Options.Strategy)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, schema.Drop(context.WithoutCancel(ctx))) }()
	var more string
	if c.Schedule == nil {
		more, err = c.search(ctx, schema.Config(), run)
	} else {
		more, err = c.follow(ctx, schema.Config(), run)
	}
	if err != nil {
		return err
	}
	if doubt == "" {
		doubt = more
	}
	c.judge(run, never, shows, doubt)
	if v := run.Explore.ShortestViolation; v != nil && run.Explore.Trace == nil && ctx.Err() == nil {
		return c.picture(ctx, schema.Config(), run, *v)
	}
	return nil
}

func (c Case) search(ctx context.Context, cfg *pgx.ConnConfig, run *results.Run) (doubt string, err error) {
	r, err := Run(ctx, cfg, c.Options)
	if err != nil {
		return "", err
	}
	d := r.Document()
	run.Explore = &d
	switch {
	case r.OracleDiffers != "":
		return "the two oracles differ: " + r.OracleDiffers, nil
	case r.Inconclusive != "":
		return r.Inconclusive, nil
	case !r.Complete:
		return "not every order was run: " + r.cutInWords(), nil
	case 1 < c.Options.Sessions && c.Options.Sessions < Clients(c.Scenario, c.Options.Crashes+c.Options.LostReplies):
		return fmt.Sprintf("%d clients: the scenario %s takes %d, so that two are of one kind", c.Options.Sessions, c.Scenario.Name, c.Scenario.Least()), nil
	}
	return "", nil
}

// follow runs the one order. One that cannot be had, or does not end, makes the run inconclusive, as it does in a search: the code is no
// longer what it was, or cannot be put into an order.
func (c Case) follow(ctx context.Context, cfg *pgx.ConnConfig, run *results.Run) (doubt string, err error) {
	t, err := Replay(ctx, cfg, c.Options, c.Schedule)
	d := ReplayDocument(c.Options, t)
	run.Explore = &d
	var impossible *schedule.Impossible
	switch {
	case errors.As(err, &impossible):
		doubt = "diverged: " + impossible.Error() + c.elsewhere()
	case unordered(err), errors.Is(err, errOracle):
		doubt = err.Error()
	case err != nil:
		return "", err
	}
	if doubt != "" {
		d.Outcomes, d.Violating = []results.Outcome{}, 0 // it did not come to an end
		return doubt, nil
	}
	if c.Recorded != nil {
		if diverged := compare(*c.Recorded, *d.Trace); diverged != "" {
			return diverged, nil // it is another story now, and what it ends in is no repetition of the recorded one
		}
	}
	for _, f := range t.Outcome.Findings {
		d.Violations = append(d.Violations, results.Violation{
			Schedule: d.Trace.Schedule, Short: d.Trace.Short, Anomaly: string(f.Anomaly), Detail: f.Detail,
		})
	}
	if t.Outcome.Stuck {
		return "in this order sessions wait for ever: what they wait for is never given back", nil
	}
	return t.doubt, nil
}

// elsewhere says where an order with SERIALIZABLE commits may have come from: their two halves are steps on a server of the
// lab's own, and one step on any other.
func (c Case) elsewhere() string {
	halves := slices.ContainsFunc(c.Schedule, func(it schedule.Item) bool { return it.Name == "visible" })
	switch {
	case halves && !c.Options.OwnCluster:
		return "; it has the step visible, which only a server that the lab starts itself can show: leave the server out"
	case !halves && c.Options.OwnCluster && c.Options.Isolation == pgx.Serializable:
		return "; on a server of yours the COMMIT of a SERIALIZABLE transaction is one step, here it is two: name that server with --dsn"
	}
	return ""
}

// picture follows the shortest violation once more, looking at the table after each turn. A violation whose own order cannot be had again,
// or ends otherwise, was of chance: it was seen, and cannot be shown to anybody, so that the run says neither that it happens nor that it
// does not.
func (c Case) picture(ctx context.Context, cfg *pgx.ConnConfig, run *results.Run, v results.Violation) error {
	s, err := schedule.Parse(v.Schedule)
	if err != nil {
		return fmt.Errorf("read back the shortest violation: %w", err)
	}
	t, another, err := c.again(ctx, cfg, s, scenarios.Anomaly(v.Anomaly))
	switch {
	case err != nil:
		return fmt.Errorf("replay the shortest violation: %w", err)
	case another != "" && ctx.Err() == nil:
		run.Verdict, run.ExitCode = results.Inconclusive, check.ExitInconclusive
		run.Reason = fmt.Sprintf("diverged: %s was seen in %s, and that order could not be had again (%s), so the strategy does something by chance",
			v.Anomaly, v.Short, another)
		return nil
	}
	d := t.Document()
	run.Explore.Trace = &d
	return nil
}

// again follows an order until it ends in what it ended in before, and says what was another time, where it does not. With three backends
// which of two waiters goes on first may be PostgreSQL's choice, and each try is the toss of a coin.
func (c Case) again(ctx context.Context, cfg *pgx.ConnConfig, s schedule.Schedule, want scenarios.Anomaly) (t Trace, another string, err error) {
	most := 1
	if c.Options.Sessions+len(c.Options.Others) > 2 {
		most = tries
	}
	for range most {
		t, err = Replay(ctx, cfg, c.Options, s)
		var impossible *schedule.Impossible
		switch {
		case unordered(err): // it takes its time to say so, and would say it again
			return t, err.Error(), nil
		case errors.As(err, &impossible):
			another = err.Error()
		case err != nil:
			return t, "", err
		case !slices.Contains(t.Outcome.Anomalies, want):
			another = fmt.Sprintf("it came to %v", t.Outcome.Answers)
		default:
			return t, "", nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return t, another, nil
}

func (c Case) judge(run *results.Run, never, shows []scenarios.Anomaly, doubt string) {
	var found []scenarios.Anomaly
	for _, v := range run.Explore.Violations {
		found = append(found, scenarios.Anomaly(v.Anomaly))
		never, shows = c.withoutFaults(v, never, shows)
	}
	j := check.Judge(c.Expect, never, shows, check.Evidence{Found: found, Doubt: doubt})
	run.Verdict, run.Expected, run.Reason, run.ExitCode = j.Verdict, j.Expected, j.Reason, j.ExitCode
	if strings.HasPrefix(doubt, errReduction.Error()) && !strings.Contains(run.Reason, doubt) { // what was found was found, and yet it is to be known
		run.Reason = strings.TrimPrefix(run.Reason+"; "+doubt, "; ")
	}
	var captures *int // the most
	for _, o := range run.Explore.Outcomes {
		if o.Captures != nil && (captures == nil || *o.Captures > *captures) {
			captures = o.Captures
		}
	}
	for _, v := range run.Explore.Violations {
		judged := j.Judged(scenarios.Anomaly(v.Anomaly))
		run.Anomalies = append(run.Anomalies, results.Anomaly{
			Kind: v.Anomaly, Intent: v.Short, Captures: captures, Detail: v.Detail, Judged: judged,
		})
		if judged && run.Explore.ShortestViolation == nil {
			run.Explore.ShortestViolation = &v
		}
	}
}

// withoutFaults judges an anomaly that shows in an order without faults by what the strategy claims where there are none: that
// crashes were allowed excuses nothing that needs none.
func (c Case) withoutFaults(v results.Violation, never, shows []scenarios.Anomaly) (_, _ []scenarios.Anomaly) {
	s, err := schedule.Parse(v.Schedule)
	if err != nil {
		return never, shows
	}
	if deaths, losses := s.Faults(); deaths+losses > 0 {
		return never, shows
	}
	a := scenarios.Anomaly(v.Anomaly)
	n, sh := c.harmed(c.Options.Strategy.Judged(c.fair(), c.Options.Isolation))
	switch {
	case slices.Contains(n, a):
		shows = slices.DeleteFunc(slices.Clone(shows), func(b scenarios.Anomaly) bool { return b == a })
		if !slices.Contains(never, a) {
			never = append(slices.Clone(never), a)
		}
	case slices.Contains(sh, a) && !slices.Contains(shows, a) && !slices.Contains(never, a):
		shows = append(slices.Clone(shows), a)
	}
	return never, shows
}

// fair is the hazard of an order without faults: what a job beside the clients brings about, or else a race.
func (c Case) fair() scenarios.Hazard {
	for _, j := range c.Options.Others {
		if j.Brings != "" {
			return j.Brings
		}
	}
	if c.Options.Instances > 1 {
		return scenarios.Instances
	}
	return scenarios.Race
}

// claims are what the strategy says of this case. Where two hazards are let loose at once, only what it claims never to happen
// under each is held against it, and what it shows under either is what it shows.
func (c Case) claims() (never, shows []scenarios.Anomaly) {
	var under []scenarios.Hazard
	crashes, losses := c.Options.Crashes, c.Options.LostReplies
	if c.Schedule != nil {
		crashes, losses = c.Schedule.Faults()
	}
	if crashes > 0 {
		under = append(under, scenarios.Crash)
	}
	if losses > 0 {
		under = append(under, scenarios.LostReply)
	}
	for _, j := range c.Options.Others {
		if j.Brings != "" {
			under = append(under, j.Brings)
		}
	}
	if len(under) == 0 {
		under = append(under, c.fair())
	}
	for i, h := range under {
		n, s := c.Options.Strategy.Judged(h, c.Options.Isolation)
		if shows = append(shows, s...); i == 0 {
			never = n
			continue
		}
		never = slices.DeleteFunc(never, func(a scenarios.Anomaly) bool { return !slices.Contains(n, a) })
	}
	never, shows = c.harmed(never, shows)
	return slices.DeleteFunc(slices.Clone(never), func(a scenarios.Anomaly) bool { return slices.Contains(shows, a) }), shows
}

// harmed takes into account what jobs beside the clients are there to be seen doing: beside one of those nothing else is promised.
func (c Case) harmed(never, shows []scenarios.Anomaly) (_, _ []scenarios.Anomaly) {
	for _, j := range c.Options.Others {
		if len(j.Shows) > 0 {
			never, shows = nil, slices.Compact(slices.Sorted(slices.Values(slices.Concat(shows, j.Shows))))
		}
	}
	return never, shows
}

// describe starts the document of a run.
func (c Case) describe(srv *server.Server) results.Run {
	info := srv.Info()
	return results.Run{
		Engine: "explore", Scenario: c.Scenario.Name, Strategy: c.Options.Strategy.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Seed: c.Options.Seed,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(c.Options.Isolation),
			Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool:      results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Anomalies: []results.Anomaly{},
	}
}

// compare says where two runs of one order differ, in words; nothing where they do not.
func compare(before, now results.Trace) string {
	for i := range min(len(before.Turns), len(now.Turns)) {
		a, b := before.Turns[i], now.Turns[i]
		if a.Session != b.Session || a.Step != b.Step || a.Kind != b.Kind || a.Result != b.Result || a.Captures != b.Captures {
			return fmt.Sprintf("diverged: turn %d was %s:%s with %q, and is %s:%s with %q", i+1, a.Session, a.Step, a.Result, b.Session, b.Step, b.Result)
		}
	}
	if len(before.Turns) != len(now.Turns) {
		return fmt.Sprintf("diverged: it had %d turns, and has %d", len(before.Turns), len(now.Turns))
	}
	return ""
}
