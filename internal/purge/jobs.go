package purge

import (
	"context"

	"idemlab/scenarios"
)

// Jobs are the purgers as jobs beside attempts, to whom every key has had its time: one pass, for the orders from the request's on.
func Jobs() []scenarios.Job {
	return []scenarios.Job{
		{
			Name:   "purger",
			Title:  "deletes the rows of finished keys, whose time is over",
			Brings: scenarios.Purge,
			New:    job(Options{}),
		},
		{
			Name:   "careless-purger",
			Title:  "deletes the rows of keys whose time is over, unfinished ones too",
			Brings: scenarios.Purge,
			New:    job(Options{Careless: true}),
		},
	}
}

func job(o Options) func(scenarios.Env, scenarios.Strategy) scenarios.Handler {
	return func(scenarios.Env, scenarios.Strategy) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			o := o
			o.FromOrder = req.OrderID
			_, err := Purge(ctx, db, o)
			return scenarios.Response{}, err
		}
	}
}
