package load

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/scenarios"
)

// ahead is how many attempts' intents are prepared before they are wanted, and batch how many in one transaction.
const (
	ahead = 2048
	batch = 256
)

// preparer makes what must be there before an intent's first attempt, such as the order's row, ahead of the attempts and on a
// connection of its own: the service finds it as it would in a shop, and the attempts' times are theirs alone.
type preparer struct {
	mu     sync.Mutex
	moved  *sync.Cond
	ready  uint64 // sequence numbers below it are prepared
	wanted uint64 // the highest that an attempt came with
	over   bool
	err    error
	done   chan struct{}
}

// startPreparer begins at the driver's next attempt, and returns when the first intents are there; nil where the strategy wants
// nothing prepared. stop must be called.
func startPreparer(ctx context.Context, cfg *pgx.ConnConfig, scenario scenarios.Scenario, s scenarios.Strategy, d *driver) (*preparer, error) {
	if scenario.Prepare == nil && s.Prepare == nil {
		return nil, nil
	}
	conn, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("connect to prepare the intents: %w", err)
	}
	p := &preparer{done: make(chan struct{}), ready: d.next.Load(), wanted: d.next.Load()}
	p.moved = sync.NewCond(&p.mu)
	go func() {
		defer close(p.done)
		defer server.CloseConn(ctx, conn)
		p.run(func(from, to uint64) error {
			var wanted []uint64
			for seq := from; seq < to; seq++ {
				wanted = append(wanted, d.errand(seq).intent)
			}
			slices.Sort(wanted) // else two instances that prepare the same orders could wait for each other
			return pgx.BeginFunc(ctx, conn, func(pgx.Tx) error {
				for _, number := range slices.Compact(wanted) {
					if err := instance.Prepare(ctx, conn, scenario, s, d.Plan.request(errand{intent: number}), 1); err != nil {
						return err
					}
				}
				return nil
			})
		})
	}()
	p.wait(ctx, d.next.Load())
	return p, nil
}

func (p *preparer) run(prepare func(from, to uint64) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for !p.over && p.ready >= p.wanted+ahead {
			p.moved.Wait()
		}
		if p.over {
			return
		}
		from := p.ready
		p.mu.Unlock()
		err := prepare(from, from+batch)
		p.mu.Lock()
		if err != nil {
			p.err, p.over = err, true
		} else {
			p.ready = from + batch
		}
		p.moved.Broadcast()
	}
}

// wait returns whether the attempt's intent is prepared; it is not where that failed, or ctx ended first.
func (p *preparer) wait(ctx context.Context, seq uint64) bool {
	if p == nil {
		return ctx.Err() == nil
	}
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock() // else it could come between the look at ctx and the waiting, and wake nobody
		defer p.mu.Unlock()
		p.moved.Broadcast()
	})
	defer stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if seq > p.wanted {
		p.wanted = seq
		p.moved.Broadcast()
	}
	for p.ready <= seq && !p.over && ctx.Err() == nil {
		p.moved.Wait()
	}
	return p.ready > seq && ctx.Err() == nil
}

// stop ends the preparing and returns why it ended before, if it did for another reason than ctx.
func (p *preparer) stop(ctx context.Context) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	p.over = true
	p.moved.Broadcast()
	p.mu.Unlock()
	<-p.done
	if ctx.Err() != nil {
		return nil
	}
	return p.err
}
