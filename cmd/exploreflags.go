package cmd

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"idemlab/internal/explore"
	"idemlab/internal/schedule"
	"idemlab/results"
)

// exploreFlags are the flags of explore as typed.
type exploreFlags struct {
	server serverFlags
	output outputFlags
	common commonFlags

	search                                 string
	sessions, attempts, instances          int
	crashes, lost, most, likely            int
	hard, noSplit, step                    bool
	budget, lease                          time.Duration
	beside                                 []string
	schedule, replay, spec, format, export string
	given                                  func(flag string) bool
}

func (f *exploreFlags) add(c *cobra.Command) {
	fl := c.Flags()
	f.common.add(c)
	f.given = fl.Changed
	fl.StringVar(&f.search, "search", explore.DPOR, "dpor (one order of each class), full (every order) or random (seeded; needs --budget or --max-schedules)")
	fl.IntVar(&f.sessions, "sessions", 2, "clients with one key, each on a connection of its own, 1 to 4 (where a scenario takes 3: 3)")
	fl.IntVar(&f.attempts, "attempts-per-session", 2, "attempts of a client, each after the first only where the one before died or was told of an error: a client that was told 409 does not come again")
	fl.IntVar(&f.instances, "instances", 1, "instances over which the sessions are dealt")
	fl.IntVar(&f.crashes, "crashes", 0, "deaths of a session in one schedule, at most")
	fl.IntVar(&f.lost, "lost-replies", 0, "requests to the acquirer, or replies of it, that are lost in one schedule, at most")
	fl.DurationVar(&f.lease, "lease", 0, "length of a claim's lease, in strategies that lease: 1us, and each has run out; 10s or more, and none does (default: each one's own)")
	fl.StringSliceVar(&f.beside, "beside", nil, "jobs that run beside the clients, each in a session of its own; a comma list of "+strings.Join(jobNames(), ", "))
	fl.BoolVar(&f.hard, "hard", false, "a crash closes the socket, instead of rolling back on the same connection")
	fl.BoolVar(&f.noSplit, "no-split", false, "take a write outside a transaction as one step: faster, and blind to what happens before it is visible")
	fl.DurationVar(&f.budget, "budget", 0, "stop after this time (0: none); a search that was cut off is never held")
	fl.IntVar(&f.most, "max-schedules", 0, "stop after as many schedules (0: none)")
	fl.IntVar(&f.likely, "race-intents", 50, "race as many intents beside it, to say how likely a double charge is (0: no race)")
	fl.StringVar(&f.schedule, "schedule", "", "run this one order: 'A:check B:check A:capture …', or its short form")
	fl.StringVar(&f.replay, "replay", "", "run the order in this run document again, and compare every result")
	fl.StringVar(&f.spec, "spec", "", "run a file in isolationtester's format instead; '# invariant: SELECT …' in it must return no row")
	fl.StringVar(&f.format, "format", "text", "of what --spec prints: text, or isolationtester (its own, to compare)")
	fl.StringVar(&f.export, "export-spec", "", "write the one order (the shortest that is wrong) in isolationtester's format to this file; add a line \"# invariant: SELECT …\" to have --spec judge it")
	fl.BoolVar(&f.step, "step", false, "walk through the one order key by key, on a terminal")
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "explore")
	// The only error is a flag that does not exist, which the first test run would show.
	_ = c.RegisterFlagCompletionFunc("beside", cobra.FixedCompletions(jobNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("search", cobra.FixedCompletions([]string{explore.DPOR, explore.Full, explore.Random}, cobra.ShellCompDirectiveNoFileComp))
}

// exploration checks everything that can be wrong before a server is looked for, and returns one case for each strategy.
func (f *exploreFlags) exploration(a *app) ([]explore.Case, error) {
	for _, n := range []struct {
		flag            string
		value, min, max int
	}{
		{"sessions", f.sessions, 1, 4}, {"attempts-per-session", f.attempts, 1, 10}, {"instances", f.instances, 1, 4},
		{"crashes", f.crashes, 0, 10}, {"lost-replies", f.lost, 0, 10},
		{"max-schedules", f.most, 0, 1 << 30}, {"race-intents", f.likely, 0, 10_000},
	} {
		if n.value < n.min || n.value > n.max {
			return nil, usagef("--%s %d: say %d to %d", n.flag, n.value, n.min, n.max)
		}
	}
	switch {
	case !slices.Contains([]string{explore.DPOR, explore.Full, explore.Random}, f.search):
		return nil, usagef("--search=%s: say dpor, full or random", f.search)
	case f.search == explore.Random && f.budget == 0 && f.most == 0:
		return nil, usagef("--search=random never ends: give --budget 10s, or --max-schedules 1000")
	case f.budget < 0:
		return nil, usagef("--budget %v: say more than 0", f.budget)
	case f.lease != 0 && f.lease < time.Microsecond || explore.RunOut < f.lease && f.lease < explore.Lasting:
		return nil, usagef("--lease %v: time stands still here: say 1us, for leases that have run out, or %v and more, for leases that last", f.lease, explore.Lasting)
	case f.schedule != "" && f.replay != "":
		return nil, usagef("--schedule and --replay name two orders: leave one out")
	case f.step && f.schedule == "" && f.replay == "":
		return nil, usagef("--step walks through one order: name it with --schedule or --replay")
	}
	c, err := f.common.common(a)
	if err != nil {
		return nil, err
	}
	if err := c.oneScenario(); err != nil {
		return nil, err
	}
	sessions := f.sessions
	if !f.given("sessions") && f.schedule == "" && f.replay == "" {
		sessions = explore.Clients(c.strategies[0].Scenario(), f.crashes+f.lost)
	}
	o := explore.Options{
		Sessions: sessions, AttemptsPerSession: f.attempts, Instances: f.instances, Crashes: f.crashes, LostReplies: f.lost, Lease: f.lease,
		Hard: f.hard, Search: f.search, Isolation: c.isolation, NoSplit: f.noSplit, Budget: f.budget, MaxSchedules: f.most, Seed: c.seed,
	}
	if o.Others, err = jobsOf(f.beside); err != nil {
		return nil, err
	}
	if s := c.strategies[0].Scenario(); len(f.beside) > 0 && !s.Acquirer {
		return nil, usagef("--beside: its jobs work on charges, and %s belongs to the scenario %s, which has none", c.strategies[0].Name, s.Name)
	}
	if s, ok := elsewhere(c.strategies); ok && len(f.beside) > 0 {
		return nil, usagef("--beside: its jobs work on the table %s, and %s keeps its charges in %s", s.Scenario().Tables[0], s.Name, s.Table)
	}
	var cases []explore.Case
	controls := explore.NewControls()
	for _, s := range c.strategies {
		o.Strategy = s
		cases = append(cases, explore.Case{Scenario: s.Scenario(), Options: o, DDL: c.ddl, Expect: c.expect, Controls: controls})
	}
	return f.oneOrder(cases)
}

// oneOrder narrows the cases to the one order that was asked for, if any.
func (f *exploreFlags) oneOrder(cases []explore.Case) ([]explore.Case, error) {
	text := f.schedule
	if f.replay != "" {
		recorded, err := recordedCase(f.replay, cases[0])
		if err != nil {
			return nil, err
		}
		cases, text = []explore.Case{recorded}, recorded.Recorded.Schedule
	}
	if text == "" {
		return cases, nil
	}
	if len(cases) != 1 {
		return nil, usagef("one order belongs to one strategy: name it with --strategy")
	}
	var err error
	if cases[0].Schedule, err = schedule.Parse(text); err != nil {
		return nil, usageError{err}
	}
	return cases, knownSessions(cases[0])
}

// knownSessions refuses an order that speaks of a session that nothing runs in, such as a word that happens to consist of letters.
func knownSessions(c explore.Case) error {
	there := c.Options.Sessions + len(c.Options.Others)
	for _, it := range c.Schedule {
		if it.Session >= there {
			last := schedule.Action{Session: there - 1}
			return usagef("schedule: %s is of no session: there are %d, the last is %s; --sessions N has more of them", it, there, last)
		}
	}
	return nil
}

// recordedCase is the first run in a document that has a schedule to replay, as it was run then.
func recordedCase(path string, c explore.Case) (explore.Case, error) {
	run, err := recordedRun(path)
	if err != nil {
		return c, err
	}
	if c.Options.Strategy, err = strategyOf(run.Strategy); err != nil {
		return c, err
	}
	c.Scenario = c.Options.Strategy.Scenario()
	if c.Options.Isolation, err = isolationOf(run.Server.Isolation); err != nil {
		return c, err
	}
	d := run.Explore
	c.Options.Sessions, c.Options.AttemptsPerSession, c.Options.NoSplit, c.Options.Hard = d.Sessions, d.AttemptsPerSession, !d.Split, d.Hard
	c.Options.Instances, c.Options.Lease = d.Instances, time.Duration(math.Round(d.LeaseMS*1e6))
	if c.Options.Others, err = jobsOf(d.Beside); err != nil {
		return c, err
	}
	c.Recorded = d.Trace
	return c, nil
}

func recordedRun(path string) (results.Run, error) {
	file, err := os.Open(path)
	if err != nil {
		return results.Run{}, usagef("--replay: %w", err)
	}
	defer file.Close()
	d, err := results.Read(file)
	if err != nil {
		return results.Run{}, usagef("--replay %s: %w", path, err)
	}
	for _, r := range d.Runs {
		if r.Explore != nil && r.Explore.Trace != nil {
			return r, nil
		}
	}
	return results.Run{}, usagef("--replay %s: it holds no schedule; explore writes one where it finds a violation", path)
}

// agree refuses flags that would be ignored beside others: a result must be of what was asked for.
func (f *exploreFlags) agree(set *pflag.FlagSet) error {
	clash := func(first string, others ...string) error {
		for _, o := range others {
			if set.Changed(first) && set.Changed(o) {
				return usagef("--%s and --%s do not go together: leave one out", first, o)
			}
		}
		return nil
	}
	search := []string{"search", "crashes", "lost-replies", "budget", "max-schedules", "race-intents"}
	err := errors.Join(
		clash("spec", append([]string{"strategy", "schedule", "replay", "step", "export-spec", "isolation", "schema", "sessions", "instances", "beside", "lease"}, search[:3]...)...),
		clash("schedule", search...),
		clash("replay", append([]string{"strategy", "isolation", "sessions", "attempts-per-session", "instances", "no-split", "hard", "beside", "lease"}, search...)...))
	switch {
	case err != nil:
		return err
	case set.Changed("schedule") && f.schedule == "":
		return usagef("--schedule '' names no step: write 'A:check B:check …', or AB…")
	case set.Changed("format") && f.spec == "":
		return usagef("--format is of what --spec prints")
	case f.instances > f.sessions && f.sessions > 0: // fewer are no matter of instances
		return usagef("--instances %d: with %d sessions, some would have nothing to do", f.instances, f.sessions)
	case f.export != "" && f.replay == "" && len(f.common.strategies) != 1:
		return usagef("--export-spec is of one strategy: name it with --strategy")
	}
	return nil
}
