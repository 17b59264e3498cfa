package neighbours

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// Connections is how many a run holds at the most: the schema's lock, and the one that asks.
const Connections = 3

// Options say what is asked.
type Options struct {
	Constraint Constraint
	Expect     check.Expectation
}

// Run asks about one constraint.
func Run(ctx context.Context, srv *server.Server, o Options) (run results.Run, err error) {
	run = o.describe(srv)
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()
	err = o.ask(ctx, srv, run.Neighbours)
	o.judge(&run, err)
	return check.Ended(ctx, run, err)
}

func (o Options) ask(ctx context.Context, srv *server.Server, into *results.Neighbours) error {
	for _, p := range pairs() {
		recognised, err := o.recognised(ctx, srv, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		into.Pairs = append(into.Pairs, results.Neighbour{Pair: p.name, Same: p.same, Recognised: recognised})
	}
	return nil
}

// recognised says whether the second of a pair is refused, on a new table.
func (o Options) recognised(ctx context.Context, srv *server.Server, p pair) (_ bool, err error) {
	schema, err := srv.NewSchema(ctx, o.table())
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, schema.Drop(context.WithoutCancel(ctx))) }()
	conn, err := pgx.ConnectConfig(ctx, schema.Config())
	if err != nil {
		return false, fmt.Errorf("connect: %w", err)
	}
	defer server.CloseConn(ctx, conn)
	for i, r := range []request{p.first, p.second} {
		var id int64
		// Without a target, any of the table's constraints may refuse.
		err := conn.QueryRow(ctx, `/* claim */
			INSERT INTO chave (inquilino, rota, idempotency_key, pedido_id, parcela)
			VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT DO NOTHING
			RETURNING id`,
			r.tenant, r.route, r.key, r.order, r.installment).Scan(&id)
		switch {
		case errors.Is(err, pgx.ErrNoRows) && i == 1:
			return true, nil
		case err != nil:
			return false, fmt.Errorf("request %d: %w", i+1, err)
		}
	}
	return false, nil
}

// table is what the keys are kept in.
func (o Options) table() string {
	return fmt.Sprintf(`CREATE TABLE chave (
		id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		inquilino       bigint,
		rota            text   NOT NULL,
		idempotency_key text   NOT NULL,
		pedido_id       bigint NOT NULL,
		parcela         int    NOT NULL,
		%s)`, strings.Join(o.Constraint.SQL, ",\n\t\t"))
}

// judge compares what was found with what is known of the constraint.
func (o Options) judge(run *results.Run, err error) {
	e := check.Evidence{}
	if err != nil || len(run.Neighbours.Pairs) < len(pairs()) {
		e.Doubt = "it did not come to its end"
	}
	wrong := 0
	if e.Doubt == "" {
		run.Neighbours.Wrong = &wrong
	}
	for _, p := range run.Neighbours.Pairs {
		if p.Right() {
			continue
		}
		wrong++
		a := results.Anomaly{Kind: string(scenarios.MissingCharge), Intent: p.Pair, Judged: true, Detail: "told the answer of another wish, and not charged"}
		if p.Same {
			a.Kind, a.Detail = string(scenarios.DoubleCharge), "taken for a new wish, and charged again"
		}
		run.Anomalies = append(run.Anomalies, a)
		e.Found = append(e.Found, scenarios.Anomaly(a.Kind))
	}
	var never []scenarios.Anomaly
	for _, a := range []scenarios.Anomaly{scenarios.DoubleCharge, scenarios.MissingCharge} {
		shown := false
		for _, s := range o.Constraint.Shows {
			shown = shown || s == a
		}
		if !shown {
			never = append(never, a)
		}
	}
	j := check.Judge(o.Expect, never, o.Constraint.Shows, e)
	run.Verdict, run.Expected, run.Reason, run.ExitCode = j.Verdict, j.Expected, j.Reason, j.ExitCode
}

// describe starts the document of a run.
func (o Options) describe(srv *server.Server) results.Run {
	info := srv.Info()
	return results.Run{
		Engine: "neighbours", Scenario: scenarios.ChargeOnce.Name, Strategy: o.Constraint.Name,
		Status: results.Complete, Verdict: results.Inconclusive, Expected: results.Held, ExitCode: check.ExitInconclusive,
		Server: results.Server{
			Version: info.Version, Source: info.Source, Isolation: string(pgx.ReadCommitted), Settings: info.Settings, NotDurable: info.NotDurable,
		},
		Tool:       results.Tool{Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU()},
		Neighbours: &results.Neighbours{Constraint: strings.Join(o.Constraint.SQL, ", "), Pairs: []results.Neighbour{}},
		Anomalies:  []results.Anomaly{},
	}
}
