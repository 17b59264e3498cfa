package recovery

import (
	"context"

	"idemlab/scenarios"
)

// Jobs are the reconcilers as jobs beside attempts: one pass each, over claims of any age, for the orders from the request's on.
func Jobs() []scenarios.Job {
	return []scenarios.Job{
		{
			Name:  "reconciler",
			Title: "asks the acquirer what became of each PROCESSANDO, and records what it says",
			New:   job(Options{}),
		},
		{
			Name:  "eager-reconciler",
			Title: "asks the acquirer what became of each PROCESSANDO, and deletes those that it does not know",
			Shows: []scenarios.Anomaly{scenarios.DoubleCharge},
			New:   job(Options{Eager: true}),
		},
	}
}

func job(o Options) func(scenarios.Env, scenarios.Strategy) scenarios.Handler {
	return func(_ scenarios.Env, s scenarios.Strategy) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			o := o
			o.FromOrder, o.AcquirerKey = req.OrderID, s.AcquirerKey
			_, err := Reconcile(ctx, db, acq, o)
			return scenarios.Response{}, err
		}
	}
}
