package explore

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/results"
)

// Controls are those that were explored already. What a control comes to depends on the server, the tables and the isolation level, and
// not on which strategy comes after it. It may be used by several cases at once; they wait for each other's.
type Controls struct {
	mu   sync.Mutex
	seen map[controlOf]control
}

// NewControls remembers nothing yet.
func NewControls() *Controls { return &Controls{seen: map[controlOf]control{}} }

// controlOf is everything that a control depends on.
type controlOf struct {
	server    *server.Server
	ddl       string
	scenario  string
	isolation pgx.TxIsoLevel
}

// control is what became of one, and why it proves nothing, if that is so.
type control struct {
	results.Control
	doubt string
}

// explored returns the control that the case's like has had, marked as shared, or explores one. A nil receiver remembers nothing, and none
// remembers what proved nothing: another time it may.
func (c *Controls) explored(ctx context.Context, srv *server.Server, of Case) (control, error) {
	if c == nil {
		return of.control(ctx, srv)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := controlOf{srv, of.DDL, of.Scenario.Name, of.Options.Isolation}
	if done, ok := c.seen[key]; ok {
		done.Shared = true
		return done, nil
	}
	done, err := of.control(ctx, srv)
	if err == nil && done.doubt == "" {
		c.seen[key] = done
	}
	return done, err
}

// control explores the scenario's control strategy, which must be caught on this server.
func (c Case) control(ctx context.Context, srv *server.Server) (out control, err error) {
	s := c.Scenario.Control
	schema, err := tables.Create(ctx, srv, c.DDL, s)
	if err != nil {
		return control{}, err
	}
	defer func() { err = errors.Join(err, schema.Drop(context.WithoutCancel(ctx))) }()
	o := Defaults(s)
	o.Scenario, o.Isolation, o.Budget = c.Scenario, c.Options.Isolation, c.Options.Budget
	r, err := Run(ctx, schema.Config(), o)
	if err != nil {
		return control{}, err
	}
	out.Ran, out.Strategy = true, s.Name
	switch {
	case c.Scenario.Acquirer && c.Scenario.Harm == "":
		most := 0
		for _, out := range r.Outcomes {
			most = max(most, out.Captures)
		}
		out.ForcedCharge = &results.ForcedCharge{Captures: most, DoubleCharged: most > 1}
	default:
		for _, v := range r.Violations { // the worst first
			if c.Scenario.Harm == "" || v.Anomaly == c.Scenario.Harm {
				out.Anomaly = string(v.Anomaly)
				break
			}
		}
	}
	if out.doubt = check.ControlDoubt(&out.Control); out.doubt != "" && r.Cut == "budget" { // it is to blame for nothing: there was no time for it
		out.doubt = fmt.Sprintf("the time was up before the control %s had been seen to go wrong: give more than --budget %v", s.Name, o.Budget)
	}
	return out, nil
}
