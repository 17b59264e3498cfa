package race

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

// Controls are those that were forced already. What a control comes to depends on the server, the tables and the isolation level, and
// not on how wide a race follows it: a grid of races needs one for each level. It may be used by several races at once; they wait for
// each other's.
type Controls struct {
	mu     sync.Mutex
	forced map[controlOf]results.Control
}

// NewControls remembers nothing yet.
func NewControls() *Controls { return &Controls{forced: map[controlOf]results.Control{}} }

// controlOf is everything that a control depends on: all that force looks at.
type controlOf struct {
	server    *server.Server
	ddl       string
	scenario  string
	isolation pgx.TxIsoLevel
	lease     time.Duration
	seed      uint64
	effect    scenarios.Effect
}

// force returns the control that the race's like has had, marked as shared, or forces one. A nil receiver remembers nothing.
func (c *Controls) force(ctx context.Context, srv *server.Server, o Options) (results.Control, error) {
	if c == nil {
		return Control(ctx, srv, o)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := controlOf{srv, o.DDL, o.Scenario.Name, o.Isolation, o.Lease, o.Seed, o.Effect}
	if done, ok := c.forced[key]; ok {
		done.Shared = true
		return done, nil
	}
	control, err := Control(ctx, srv, o)
	if err == nil {
		c.forced[key] = control
	}
	return control, err
}
