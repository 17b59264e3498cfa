package cmd

import (
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progress shows how many intents are done, on stderr and only on a terminal. One goroutine feeds the bar from a counter: the
// bar renders under a lock, and an Add from within the race would serialise what it shows.
type progress struct {
	bar  *progressbar.ProgressBar
	quit chan struct{}
	done chan struct{}
}

func (a *app) progress(total int64, counter *atomic.Int64) *progress {
	if !isTerminal(a.stderr) {
		return &progress{}
	}
	p := &progress{
		bar: progressbar.NewOptions64(total, progressbar.OptionSetWriter(a.stderr), progressbar.OptionClearOnFinish(),
			progressbar.OptionShowCount(), progressbar.OptionSetWidth(20), progressbar.OptionSetElapsedTime(false),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetSpinnerChangeInterval(0)), // it would go on spinning by itself, over whatever comes next
		quit: make(chan struct{}), done: make(chan struct{}),
	}
	go p.feed(counter)
	return p
}

func (p *progress) feed(counter *atomic.Int64) {
	defer close(p.done)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-p.quit:
			return
		case <-tick.C:
			_ = p.bar.Set64(counter.Load()) // a terminal that cannot be written to is no reason to stop a race
		}
	}
}

// describe names what is running.
func (p *progress) describe(what string) {
	if p.bar != nil {
		p.bar.Describe(what)
	}
}

// stop takes the bar off the screen.
func (p *progress) stop() {
	if p.bar == nil {
		return
	}
	close(p.quit)
	<-p.done
	_ = p.bar.Clear()
	_ = p.bar.Exit()
}
