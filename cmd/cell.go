package cmd

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/explore"
	"idemlab/internal/race"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// cell is one engine's look at one strategy under one hazard at one level. Exactly one of the two is set.
type cell struct {
	strategy scenarios.Strategy
	hazard   scenarios.Hazard
	race     *race.Options
	explore  *explore.Case
}

// cellConnections is what one cell holds at the most.
const cellConnections = exploreConnections

// cells lays out the grid: every strategy, level by level, hazard by hazard.
func (f *verifyFlags) cells(a *app) ([]cell, error) {
	if f.parallel < 1 || f.parallel > 16 {
		return nil, usagef("--parallel %d: say 1 to 16", f.parallel)
	}
	if f.budget < 0 {
		return nil, usagef("--budget %v: say more than 0", f.budget)
	}
	com, err := f.common.common(a)
	if err != nil {
		return nil, err
	}
	names := f.levels
	if f.full {
		names = isolationNames()
	}
	child, err := instanceArgs(raceInstance)
	if err != nil {
		return nil, err
	}
	controls := controlsOf{race.NewControls(), explore.NewControls()}
	var cells []cell
	for _, name := range names {
		level, err := isolationOf(name)
		if err != nil {
			return nil, err
		}
		for _, s := range com.strategies {
			cells = append(cells, f.row(com, s, level, child, controls)...)
		}
	}
	return cells, nil
}

// scenariosOf are the scenarios that cells are of, each once.
func scenariosOf(cells []cell) []scenarios.Scenario {
	var all []scenarios.Scenario
	for _, c := range cells {
		s := c.strategy.Scenario()
		if !slices.ContainsFunc(all, func(known scenarios.Scenario) bool { return known.Name == s.Name }) {
			all = append(all, s)
		}
	}
	return all
}

// controlsOf are the controls of all cells: one at each level does for every strategy of a scenario.
type controlsOf struct {
	raced    *race.Controls
	explored *explore.Controls
}

// row is a strategy's cells at one level.
func (f *verifyFlags) row(com common, s scenarios.Strategy, level pgx.TxIsoLevel, child []string, controls controlsOf) []cell {
	exploration := func(h scenarios.Hazard, more, crashes, lost int) cell {
		sessions := max(explore.Clients(s.Scenario(), crashes+lost), 2+more)
		o := explore.Defaults(s)
		o.Sessions, o.Crashes, o.LostReplies, o.Isolation, o.Seed = sessions, crashes, lost, level, com.seed
		return cell{strategy: s, hazard: h, explore: &explore.Case{Scenario: s.Scenario(), Options: o, DDL: com.ddl, Expect: check.ExpectClaim, Controls: controls.explored}}
	}
	attempts := 8
	if !s.Scenario().Acquirer { // nothing takes its time, so that it takes a crowd for two to meet
		attempts = 40
	}
	racing := func(h scenarios.Hazard, instances int) cell {
		return cell{strategy: s, hazard: h, race: &race.Options{
			Scenario: s.Scenario(), Strategy: s, Attempts: attempts, Intents: 5, Rounds: 1, Instances: instances, Pool: 8 / instances,
			Isolation: level, Acquirer: acquirer.Options{Latency: acquirer.Fixed(5 * time.Millisecond), Seed: com.seed},
			AttemptTimeout: 30 * time.Second, Seed: com.seed, Expect: check.ExpectClaim, DDL: com.ddl, Child: child, Controls: controls.raced,
		}}
	}
	cells := []cell{exploration(scenarios.Race, 0, 0, 0), racing(scenarios.Race, 1), exploration(scenarios.Crash, 0, 1, 0)}
	if f.full {
		cells = append(cells, exploration(scenarios.Race, 1, 0, 0), exploration(scenarios.LostReply, 0, 0, 1), racing(scenarios.Instances, 2))
	}
	return slices.DeleteFunc(cells, func(c cell) bool {
		never, shows := s.Judged(c.hazard, level)
		claimed := len(never)+len(shows) > 0
		// Nothing claimed, nothing to compare with. But who claims nothing at all is held to everything in a race.
		return !claimed && (c.hazard != scenarios.Race || len(s.Never)+len(s.Shows) > 0)
	})
}

// run looks. Where the time is up the cell is undecided.
func (c cell) run(ctx context.Context, srv *server.Server, until time.Time, shared bool) (results.Run, error) {
	left := time.Duration(0)
	if !until.IsZero() {
		if left = time.Until(until); left <= 0 {
			return c.late(srv), nil
		}
	}
	if c.race != nil {
		return meet(ctx, until, func() (results.Run, error) { return race.Run(ctx, srv, *c.race) })
	}
	e := *c.explore
	e.Options.Budget, e.Shared = left, shared
	if never, shows := c.strategy.Judged(c.hazard, c.isolation()); len(never) == 0 {
		e.Options.Enough = shows // a bad example is caught when it is caught
	}
	return e.Run(ctx, srv)
}

// races is how often a cell is raced whose attempts do not meet: on a busy machine that is chance, and says nothing of the strategy.
const races = 3

// meet races until attempts have met, the time is up, or to go on would say no more.
func meet(ctx context.Context, until time.Time, once func() (results.Run, error)) (run results.Run, err error) {
	for range races {
		run, err = once()
		late := !until.IsZero() && !time.Now().Before(until)
		if err != nil || ctx.Err() != nil || late || race.Met(run) || run.Verdict != results.Inconclusive {
			break
		}
	}
	return run, err
}

// longestFirst is the order in which to begin cells, so that none that takes long is left over at the end: first the
// explorations without faults, which are quick and tell which strategies want the server to themselves; then those with faults
// that must go through every order; then the rest.
func longestFirst(cells []cell) []int {
	weight := func(c cell) int {
		if c.explore == nil {
			return 2
		}
		if c.hazard == scenarios.Race {
			return 0
		}
		if never, _ := c.strategy.Judged(c.hazard, c.isolation()); len(never) > 0 {
			return 1
		}
		return 2
	}
	order := make([]int, len(cells))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return weight(cells[i]) - weight(cells[j]) })
	return order
}

func (c cell) isolation() pgx.TxIsoLevel {
	if c.explore != nil {
		return c.explore.Options.Isolation
	}
	return c.race.Isolation
}

// late is the result of a cell that was not begun.
func (c cell) late(srv *server.Server) results.Run {
	engine := "race"
	if c.explore != nil {
		engine = "explore"
	}
	info := srv.Info()
	return results.Run{
		Engine: engine, Scenario: c.strategy.Scenario().Name, Strategy: c.strategy.Name, Status: results.Complete, StartedAt: time.Now().UTC(),
		Server:    results.Server{Version: info.Version, Source: info.Source, Isolation: string(c.isolation()), Settings: info.Settings, NotDurable: info.NotDurable},
		Tool:      results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Anomalies: []results.Anomaly{}, Verdict: results.Inconclusive, Reason: "the budget was used up before", Expected: results.Held,
		ExitCode: exitInconclusive,
	}
}
