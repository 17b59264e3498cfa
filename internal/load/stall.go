package load

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
)

// stall locks the scenario's table against writers for a while, in the middle of the run: what a migration, or a row that everybody
// wants, does to a service. An open loop's attempts keep coming meanwhile, as customers do; a closed loop's wait in line, and the
// stall all but vanishes from its percentiles.
type stall struct {
	cancel context.CancelFunc
	done   chan error
}

func startStall(ctx context.Context, schema *server.Schema, o Options, w window) *stall {
	if o.Stall <= 0 {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &stall{cancel, make(chan error, 1)}
	go func() {
		err := hold(ctx, schema.Config(), o.Scenario.TableOf(o.Strategy), time.Until(w.Warm.Add(o.Duration/3)), o.Stall)
		if ctx.Err() != nil {
			err = nil
		}
		s.done <- err
	}()
	return s
}

func hold(ctx context.Context, cfg *pgx.ConnConfig, table string, after, length time.Duration) error {
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return fmt.Errorf("connect to stall: %w", err)
	}
	defer server.CloseConn(ctx, conn) // and with it the transaction
	if !sleep(ctx, after) {
		return nil
	}
	if _, err := conn.Exec(ctx, `BEGIN; LOCK TABLE `+pgx.Identifier{table}.Sanitize()+` IN SHARE ROW EXCLUSIVE MODE`); err != nil {
		return fmt.Errorf("lock the table to stall: %w", err)
	}
	sleep(ctx, length)
	return nil
}

// sleep returns whether the time has passed.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stop ends the stall, if it still lasts, and returns what went wrong.
func (s *stall) stop() error {
	if s == nil {
		return nil
	}
	s.cancel()
	return <-s.done
}
