package cmd

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/spf13/cobra"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/recovery"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// reconcileFlags are the flags of reconcile as typed.
type reconcileFlags struct {
	server serverFlags
	output outputFlags

	tables, acquirer, strategy string
	lease, deadline, patience  time.Duration
	dryRun                     bool

	whose scenarios.Strategy
	asked acquirer.Elsewhere // what --acquirer names
}

// reconcileConnections are the schema's lock, and the one that works.
const reconcileConnections = 2

func (a *app) reconcile() *cobra.Command {
	var f reconcileFlags
	c := &cobra.Command{
		Use:   "reconcile",
		Short: "Ask the acquirer what became of a service's orphans, and finish them",
		Long: `Ask the acquirer what became of every charge that is PROCESSANDO for longer than a lease, by the server's clock, and store the answer
that its worker would have stored: from then on a retry is told so, byte for byte. Nobody is charged, and nothing is concluded from
silence: what the acquirer does not know is left, until --deadline if it has promised one.

It may be run again, several times at once, and while the service works: a row is written only where it is still PROCESSANDO.

The exit code is 0 where nothing is left, 4 where something is. idemlab recover shows the same on tables of its own.`,
		Example: `  idemlab reconcile --dsn postgres://localhost/lab --tables idemlab_6b1f0c2d9a3e4f58 --acquirer http://127.0.0.1:8081
  idemlab reconcile --tables idemlab_6b1f0c2d9a3e4f58 --acquirer http://127.0.0.1:8081 --lease 5m --dry-run --json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := f.check(a); err != nil {
				return err
			}
			return a.runReconcile(c.Context(), f)
		},
	}
	fl := c.Flags()
	fl.StringVar(&f.tables, "tables", "", "the tables to go over, by their schema's name")
	fl.StringVar(&f.acquirer, "acquirer", "", "URL of the acquirer that the service charged at")
	fl.StringVarP(&f.strategy, "strategy", "s", scenarios.InsertFirst.Name, "strategy of the service, which may have keys of its own at the acquirer (recovery-points)")
	fl.DurationVar(&f.lease, "lease", time.Minute, "how long a claim is its worker's own: longer than the longest call to the acquirer")
	fl.DurationVar(&f.deadline, "deadline", 0, "close what the acquirer does not know after this time (0: never), where it promises to refuse what comes later")
	fl.DurationVar(&f.patience, "ask-timeout", 10*time.Second, "wait for an answer of the acquirer no longer")
	fl.BoolVar(&f.dryRun, "dry-run", false, "ask, and write nothing")
	f.server.add(c)
	f.output.add(c)
	f.output.gates.add(c, "reconcile")
	// The only error is a flag that does not exist, which the first test run would show.
	_ = c.RegisterFlagCompletionFunc("strategy", cobra.FixedCompletions(strategyNames(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

// check refuses everything that can be wrong before a server is looked for.
func (f *reconcileFlags) check(a *app) (err error) {
	switch {
	case f.tables == "":
		return usagef("--tables: name the schema of the tables, such as idemlab_6b1f0c2d9a3e4f58; or see idemlab recover, which makes its own")
	case f.acquirer == "":
		return usagef("--acquirer: name the URL of the acquirer that the service charged at, such as http://127.0.0.1:8081")
	case f.lease <= 0:
		return usagef("--lease %v: say more than 0, and more than the longest call to the acquirer", f.lease)
	case f.deadline != 0 && f.deadline < f.lease:
		return usagef("--deadline %v: say 0 for none, or at least the lease's %v", f.deadline, f.lease)
	case f.patience <= 0:
		return usagef("--ask-timeout %v: say more than 0", f.patience)
	case !f.server.options(a, 0).NamesServer():
		return usagef("--tables is for a server of yours, where there are tables of a service: name it with --dsn")
	}
	if err := server.CheckSchemaName(f.tables); err != nil {
		return err
	}
	if f.asked, err = elsewhereAt(f.acquirer, 1); err != nil {
		return err
	}
	if f.asked.Effect() == scenarios.EMail {
		return usagef("--acquirer %q: SMTP has no way to ask whether an e-mail went out, so that its orphans cannot be reconciled; what a person knows of one "+
			"(the customer, the mail server's log) has to be written down by hand", hostOf(f.acquirer))
	}
	f.whose, err = strategyOf(f.strategy)
	if err == nil && !f.whose.Scenario().Acquirer {
		err = usagef("--strategy=%s: it belongs to the scenario %s, which has no acquirer to ask", f.strategy, f.whose.Scenario().Name)
	}
	if err == nil && f.whose.Table != "" {
		err = usagef("--strategy=%s: reconcile goes over %s, and it keeps its charges in %s", f.strategy, f.whose.Scenario().Tables[0], f.whose.Table)
	}
	return err
}

func (a *app) runReconcile(ctx context.Context, f reconcileFlags) error {
	if err := f.output.prepare(f.whose.Scenario()); err != nil {
		return err
	}
	ctx, release := untilParentDies(ctx)
	defer release()
	started := time.Now()
	run, err := a.reconcileOnce(ctx, f)
	if run.Engine == "" {
		return err
	}
	return a.put(f.output, "reconcile", started, document(ctx, []results.Run{run}, err))
}

func (a *app) reconcileOnce(ctx context.Context, f reconcileFlags) (run results.Run, err error) {
	options := f.server.options(a, reconcileConnections)
	options.Spare = f.tables
	srv, err := server.Open(ctx, options)
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, srv.Stop(context.WithoutCancel(ctx))) }()
	schema, err := srv.Join(ctx, f.tables)
	if err != nil {
		return run, err
	}
	defer schema.LetGo(ctx)
	cfg := schema.Config()
	cfg.RuntimeParams["default_transaction_isolation"] = string(pgx.ReadCommitted)
	cfg.RuntimeParams["lock_timeout"] = "5s" // a row that somebody holds for longer is left for the next time
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return run, fmt.Errorf("connect to the tables: %w", err)
	}
	defer server.CloseConn(ctx, conn)

	run = f.describe(srv.Info())
	defer f.asked.Close()
	report, err := recovery.Reconcile(ctx, conn, f.asked.For("reconciler"), recovery.Options{
		Lease: f.lease, Deadline: f.deadline, Patience: f.patience, DryRun: f.dryRun, AcquirerKey: f.whose.AcquirerKey,
	})
	run.DurationMS = results.MS(time.Since(run.StartedAt))
	run.Recovery.Passes = append(run.Recovery.Passes, report.Document("only"))
	left := report.Left()
	run.Recovery.Left = &left
	run.Verdict, run.Reason = settled(report)
	if run.Verdict == results.Held {
		run.ExitCode = exitHeld
	}
	return check.Ended(ctx, run, err)
}

// settled says whether anything is left that nobody knows the end of.
func settled(r recovery.Report) (results.Verdict, string) {
	var left []string
	for _, f := range recovery.Fates() {
		if n, cents := r.Count(f); n > 0 && (f.Left() || r.DryRun) {
			left = append(left, fmt.Sprintf("%d %s (%d cents)", n, f, cents))
		}
	}
	switch {
	case len(left) == 0:
		return results.Held, ""
	case r.DryRun:
		return results.Inconclusive, "nothing was written: " + strings.Join(left, ", ")
	}
	return results.Inconclusive, "left: " + strings.Join(left, ", ")
}

// describe starts the document: what was asked for, and of whom.
func (f reconcileFlags) describe(info server.Info) results.Run {
	return results.Run{
		Engine: "reconcile", Scenario: f.whose.Scenario().Name, Strategy: f.whose.Name,
		Status: results.Complete, StartedAt: time.Now().UTC(), Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(pgx.ReadCommitted), Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool: results.Tool{Version: version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Recovery: &results.Recovery{Passes: []results.RecoveryPass{}, Settings: results.RecoverySettings{
			Reconciler: "patient", LeaseMS: results.MS(f.lease), DeadlineMS: results.MS(f.deadline), DryRun: f.dryRun, Tables: f.tables,
		}},
		Anomalies: []results.Anomaly{},
	}
}
