package cmd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"idemlab/internal/race"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// job is one race to run, and what came of it.
type job struct {
	race race.Options
	what string // as progress and errors call it
	x, y string // where it lies on a grid
	run  results.Run
}

// raceEach runs one race after another on one server, large enough for the largest, and returns those that were begun. Where one could
// not be run to its end, the others of its strategy could not either and are left out.
func (a *app) raceEach(ctx context.Context, f raceFlags, jobs []job) (ran []job, skipped []results.Skipped, err error) {
	connections, intents := 0, 0
	for _, j := range jobs {
		connections = max(connections, j.race.Instances*j.race.Pool+race.Overhead)
	}
	srv, err := server.Open(ctx, f.server.options(a, connections))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	jobs, skipped, err = able(a, srv, jobs, func(j job) scenarios.Strategy { return j.race.Strategy })
	if err != nil {
		return nil, skipped, err
	}
	for _, j := range jobs {
		intents += j.race.Intents * j.race.Rounds
	}
	if t := acquirerTime(jobs); t >= long {
		a.say("this takes a while: the %s's answers alone about %v, and more where attempts queue for it", jobs[0].race.Effect.Words().Far, t.Round(time.Second))
	}
	var done atomic.Int64
	bar := a.progress(int64(intents), &done)
	defer bar.stop()
	var errs []error
	failed := map[string]bool{}
	for _, j := range jobs {
		if failed[j.race.Strategy.Name] {
			continue
		}
		j.race.Done = &done
		j.race.Kept = func(schema string) { a.kept(j, schema) }
		bar.describe(j.what)
		j.run, err = race.Run(ctx, srv, j.race)
		j.run.Tool.Version, j.run.Settings.Schema = version, f.common.ddlFile
		if err != nil {
			failed[j.race.Strategy.Name] = true
			errs = append(errs, fmt.Errorf("%s: %w", j.what, err))
		}
		ran = append(ran, j)
		if ctx.Err() != nil || errors.Is(err, race.ErrServerLost) {
			break
		}
	}
	return ran, skipped, errors.Join(errs...)
}

// long is what its user wants to know of beforehand.
const long = 20 * time.Second

// acquirerTime is what the acquirer's answers take where all attempts at an intent reach it at once: one answer for the race, and one
// for the order's other charge.
func acquirerTime(jobs []job) (total time.Duration) {
	for _, j := range jobs {
		o, calls := j.race, 1
		if !o.Scenario.Acquirer {
			continue
		}
		if o.Scenario.Followups {
			calls++
		}
		total += time.Duration(o.Rounds*o.Intents*calls) * o.Acquirer.Latency.Mean()
	}
	return total
}

// kept says how to look at the tables that --keep left behind.
func (a *app) kept(j job, schema string) {
	of := ""
	if j.x != "" {
		of = " of " + j.what
	}
	a.say("kept%s: look with\n  psql … -c 'SELECT * FROM %s.%s'\n%sand drop with\n  DROP SCHEMA %s CASCADE", of, schema,
		j.race.Scenario.TableOf(j.race.Strategy), keptBeside(j.race.Scenario), schema)
}

// keptBeside says what the tables hold beside the charges of the intents that were counted: whoever counts rows would find too many.
func keptBeside(s scenarios.Scenario) string {
	if !s.Followups {
		return ""
	}
	return "it holds more than the intents' charges: each one's order is charged once more, under another key (a follow-up), and the orders of the warm-up are below zero\n"
}
