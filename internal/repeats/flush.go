package repeats

import (
	"context"
	"fmt"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// flushing marks a request that only asks the backend to report its statistics.
type flushing struct{}

// flushable is the strategy, and what makes the backend behind it report what it has counted. A backend does so once a second at the
// most, and only the backend itself can be asked to do it at once (pg_stat_force_next_flush, PostgreSQL 15): so the question goes the way
// of the attempts.
func flushable(s scenarios.Strategy) (scenarios.Strategy, func(context.Context, *instance.Instance) error) {
	inner := s.New
	s.New = func(env scenarios.Env) scenarios.Handler {
		handle := inner(env)
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if ctx.Value(flushing{}) == nil {
				return handle(ctx, db, acq, req)
			}
			_, err := db.Exec(ctx, `/* flush */ SELECT pg_stat_force_next_flush()`)
			return scenarios.Response{Answer: scenarios.Done}, err
		}
	}
	nobody := acquirer.New(acquirer.Options{}).For("")
	return s, func(ctx context.Context, i *instance.Instance) error {
		if rec := i.Handle(context.WithValue(ctx, flushing{}, true), nobody, scenarios.Request{}); rec.Err != "" {
			return fmt.Errorf("have the backend report its statistics: %s", rec.Err)
		}
		return nil
	}
}
