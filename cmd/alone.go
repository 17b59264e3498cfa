package cmd

import (
	"sync"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
	"idemlab/results"
)

// alone knows which cells should have the server to themselves: the COMMIT of a SERIALIZABLE transaction is explored in full
// only where no other session's would be held back with it. A strategy may name that level itself, which shows when it runs.
type alone struct {
	possible bool // the server is ours

	mu         sync.Mutex
	strategies map[string]bool
}

func newAlone(srv *server.Server) *alone {
	return &alone{possible: srv.Info().Embedded, strategies: map[string]bool{}}
}

// saw learns from a cell that has run.
func (a *alone) saw(c cell, run results.Run) {
	if run.Explore == nil || !run.Explore.WholeCommits {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.strategies[c.strategy.Name] = true
}

func (a *alone) wants(c cell) bool {
	if !a.possible || c.explore == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return c.explore.Options.Isolation == pgx.Serializable || a.strategies[c.strategy.Name]
}
