package cmd

import (
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/server"
	"idemlab/internal/service"
	"idemlab/scenarios"
)

// serveFlags are the flags of serve as typed.
type serveFlags struct {
	server serverFlags
	listen listenFlags
	world  worldFlags

	strategy, isolation, ddlFile string
	tables, acquirer, syntax     string
	onHangUp                     string
	pool                         int
	timeout, lease               time.Duration
	seed                         uint64
	keep, log                    bool
}

// serveOptions are what they mean.
type serveOptions struct {
	server           server.Options
	strategy         scenarios.Strategy
	isolation        pgx.TxIsoLevel
	ddl              string
	tables           string
	pool             int
	timeout, lease   time.Duration
	retryAfter       time.Duration
	seed             uint64
	acquirer         acquirer.Options
	acquirerURL      string
	elsewhere        acquirer.Elsewhere // what is there; nil for one inside
	syntax           service.KeySyntax
	cancelWithClient bool
	log              bool
	another          func(tables string) string // the command line of another service on the same tables
}

// The values of --on-hang-up.
const (
	finish = "finish"
	cancel = "cancel"
)

func (f *serveFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVarP(&f.strategy, "strategy", "s", scenarios.InsertFirst.Name, "strategy of the scenario charge (idemlab strategies)")
	f.listen.add(c, "127.0.0.1:8080")
	fl.StringVar(&f.isolation, "isolation", string(pgx.ReadCommitted), "default isolation level of the attempts: read committed, repeatable read, serializable")
	fl.IntVar(&f.pool, "pool", 10, "connections of the service")
	fl.DurationVar(&f.timeout, "attempt-timeout", 0, "give an attempt up after this time, and answer 5xx (default: 1m, or ten times the acquirer's)")
	fl.StringVar(&f.onHangUp, "on-hang-up", finish, "when a client hangs up: finish (its retry gets the answer), or cancel the attempt, as a handler does that passes its request's context on")
	fl.DurationVar(&f.lease, "lease", 0, "length of a claim's lease, in strategies that lease (default: each one's own)")
	fl.Uint64Var(&f.seed, "seed", 1, "seed of everything that is left to chance")
	fl.StringVar(&f.syntax, "key-syntax", string(service.Lenient), "how the key may be written: lenient (with quotes or without), or strict (a String, in quotes, as the draft has it)")
	fl.StringVar(&f.ddlFile, "schema", "", "SQL file in place of the embedded schema.sql")
	fl.StringVar(&f.tables, "tables", "", "use the tables of another service, by their schema's name, instead of new ones")
	fl.BoolVar(&f.keep, "keep", false, "keep the tables afterwards, also when the service is killed, on a server of yours")
	fl.BoolVar(&f.log, "log", false, "log each request on stderr")
	fl.StringVar(&f.acquirer, "acquirer", "", "URL of an acquirer (idemlab acquirer), instead of one inside; smtp://HOST:PORT for e-mails in the place of captures")
	f.world.add(c)
	f.server.add(c)
	for name, values := range map[string][]string{
		"strategy": chargeNames(), "isolation": isolationNames(), "key-syntax": syntaxNames(), "on-hang-up": {finish, cancel},
	} {
		// The only error is a flag that does not exist, which the first test run would show.
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

func chargeNames() []string {
	var names []string
	for _, s := range scenarios.ChargeOnce.Strategies() {
		names = append(names, s.Name)
	}
	return names
}

func syntaxNames() []string {
	var names []string
	for _, s := range service.KeySyntaxes() {
		names = append(names, string(s))
	}
	return names
}

// options checks everything that can be wrong before a port is taken or a server looked for. changed says whether a flag was typed.
func (f *serveFlags) options(a *app, changed func(flag string) bool) (o serveOptions, err error) {
	if err := f.listen.check(); err != nil {
		return o, err
	}
	if err := f.world.check(); err != nil {
		return o, err
	}
	switch {
	case f.pool < 1:
		return o, usagef("--pool %d: say 1 or more", f.pool)
	case f.timeout < 0:
		return o, usagef("--attempt-timeout %v: say more than 0", f.timeout)
	case f.lease < 0:
		return o, usagef("--lease %v: say 0 or more", f.lease)
	case f.timeout > 0 && f.acquirer == "" && f.timeout <= f.world.latency.Mean():
		return o, usagef("--attempt-timeout %v: the acquirer takes %v, so most attempts would be given up; say more", f.timeout, f.world.latency.String())
	case !slices.Contains(syntaxNames(), f.syntax):
		return o, usagef("--key-syntax=%s: say lenient or strict", f.syntax)
	case f.onHangUp != finish && f.onHangUp != cancel:
		return o, usagef("--on-hang-up=%s: say finish or cancel", f.onHangUp)
	}
	if o.strategy, err = strategyOf(f.strategy); err != nil {
		return o, err
	}
	if name := o.strategy.Scenario().Name; name != scenarios.ChargeOnce.Name {
		return o, usagef("--strategy=%s: it belongs to the scenario %s, and the service makes charges; take one of the scenario %s (idemlab strategies)",
			f.strategy, name, scenarios.ChargeOnce.Name)
	}
	if o.isolation, err = isolationOf(f.isolation); err != nil {
		return o, err
	}
	if o.ddl, err = ddlOf(a.schema, f.ddlFile); err != nil {
		return o, err
	}
	if err := f.takeAcquirer(&o, changed); err != nil {
		return o, err
	}
	if err := f.takeServer(a, &o); err != nil {
		return o, err
	}
	o.pool, o.lease, o.seed, o.log = f.pool, f.lease, f.seed, f.log
	o.syntax, o.cancelWithClient = service.KeySyntax(f.syntax), f.onHangUp == cancel
	o.timeout, o.retryAfter = f.timeout, time.Second
	if f.acquirer == "" {
		o.retryAfter = min(max(o.retryAfter, o.acquirer.Latency.Mean()), time.Minute)
	}
	if o.timeout == 0 {
		o.timeout = max(time.Minute, 10*o.acquirer.Latency.Mean())
	}
	return o, nil
}

// takeAcquirer refuses what only an acquirer inside could honour.
func (f *serveFlags) takeAcquirer(o *serveOptions, changed func(string) bool) error {
	if f.acquirer == "" {
		o.acquirer = f.world.options(f.seed)
		o.acquirer.Dedup = f.world.dedup || o.strategy.WantsDedup
		return nil
	}
	for _, flag := range []string{"acquirer-latency", "decline-share", "acquirer-dedup"} {
		if changed(flag) {
			return usagef("--%s is for an acquirer inside, and --acquirer names another one: give it to that one, idemlab acquirer --%s …", flag, flag)
		}
	}
	var err error
	o.elsewhere, err = elsewhereAt(f.acquirer, f.pool)
	o.acquirerURL = f.acquirer
	return err
}

// elsewhereAt takes the value of --acquirer, before anything runs.
func elsewhereAt(base string, conns int) (acquirer.Elsewhere, error) {
	e, err := acquirer.At(base, conns)
	if err != nil {
		return nil, usagef("--acquirer %q: %w", base, err)
	}
	return e, nil
}

// takeServer refuses what makes sense on a server of the user's only.
func (f *serveFlags) takeServer(a *app, o *serveOptions) error {
	o.server = f.server.options(a, f.pool+service.Overhead+2) // the schema's lock, and one that makes or looks at the tables
	o.server.Spare, o.tables = f.tables, f.tables
	switch {
	case f.keep && !o.server.NamesServer():
		return usagef("--keep is for a server of yours: the one that is started here goes with the service; name one with --dsn")
	case f.tables == "":
		return nil
	case !o.server.NamesServer():
		return usagef("--tables is for a server of yours, where there are tables of another service: name it with --dsn")
	case f.ddlFile != "":
		return usagef("--schema is for new tables, and --tables names some that are there: leave one of them out")
	}
	return server.CheckSchemaName(f.tables)
}
