package service

import (
	"context"
	"strconv"
	"sync"

	"golang.org/x/sync/singleflight"

	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// orders sees to it that what a strategy wants to be there before an order's first charge is there, such as the order's row. A shop
// has had it for long when somebody pays; there is no shop here. It costs one statement for each order, outside the strategy
// and its pool, and nothing for strategies that want nothing.
type orders struct {
	group singleflight.Group

	mu   sync.Mutex
	done map[int64]bool
}

// mostOrders bounds what is remembered. Whoever is forgotten is made once more, which does nothing.
const mostOrders = 100_000

func (o *orders) exist(s *Service, req scenarios.Request) error {
	strategy := s.c.Instance.Strategy
	scenario := strategy.Scenario()
	if strategy.Prepare == nil && scenario.Prepare == nil || o.known(req.OrderID) {
		return nil
	}
	// The attempts of one order wait for the same statement, and go on together; it does not end with the first one's client.
	_, err, _ := o.group.Do(strconv.FormatInt(req.OrderID, 10), func() (any, error) {
		ctx, cancel := context.WithTimeout(s.work, s.c.Timeout)
		defer cancel()
		conn, err := s.side.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Release()
		if err := instance.Prepare(ctx, conn.Conn(), scenario, strategy, req, 1); err != nil {
			return nil, err
		}
		o.remember(req.OrderID)
		return nil, nil
	})
	return err
}

func (o *orders) known(id int64) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.done[id]
}

func (o *orders) remember(id int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.done == nil || len(o.done) >= mostOrders {
		o.done = map[int64]bool{}
	}
	o.done[id] = true
}
