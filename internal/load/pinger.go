package load

import (
	"context"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"idemlab/internal/instance"
)

// pinger asks the database for nothing, in an open loop: each ping is due whether or not the one before has come back.
type pinger struct {
	inst *instance.Instance

	mu   sync.Mutex
	took *hdrhistogram.Histogram // from when each was due
	most time.Duration
}

func newPinger(inst *instance.Instance) *pinger { return &pinger{inst: inst, took: newHistogram()} }

// run pings until the window closes, and returns when every ping has come back. Ctrl-C ends the waiting.
func (p *pinger) run(ctx context.Context, w window) {
	var all sync.WaitGroup
	defer all.Wait()
	for due := w.Start; due.Before(w.End) && sleep(ctx, time.Until(due)); due = due.Add(pingEvery) {
		all.Go(func() {
			if err := p.inst.Ping(ctx); err != nil {
				return // the attempts, on the same server, say what is wrong with it
			}
			took := time.Since(due)
			p.mu.Lock()
			defer p.mu.Unlock()
			note(p.took, &p.most, took)
		})
	}
}
