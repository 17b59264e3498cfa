package instance

import (
	"context"
	"sync/atomic"

	"idemlab/scenarios"
)

// addressed notices when a strategy has another tenant charged than the one that asked. The ledger cannot: it knows what it was told.
type addressed struct {
	scenarios.Acquirer
	tenant int64
	astray *atomic.Bool
}

func (a addressed) Capture(ctx context.Context, c scenarios.Charge) (scenarios.Receipt, error) {
	if c.Tenant != a.tenant {
		a.astray.Store(true)
	}
	return a.Acquirer.Capture(ctx, c)
}
