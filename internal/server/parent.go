package server

import (
	"context"
	"os"
	"time"
)

// parentInterval is how soon the end of `go run` is noticed: a person's patience, not a measurement.
const parentInterval = 200 * time.Millisecond

// ParentGone returns a channel that is closed when the go command that started this program has ended.
//
// `go run` neither hands on SIGTERM nor takes its program along when it is killed: a run would go on where nobody sees
// it. So where, and only where, the parent is called "go", its end counts as a wish to stop. With any other parent the
// channel is never closed: a shell or a CI runner that ends may well have left its programs running on purpose.
// The watch ends with ctx.
func ParentGone(ctx context.Context) <-chan struct{} {
	gone := make(chan struct{})
	parent := os.Getppid()
	if processName(parent) != "go" {
		return gone
	}
	go func() {
		tick := time.NewTicker(parentInterval)
		defer tick.Stop()
		for os.Getppid() == parent { // an orphan gets another parent at once
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
		close(gone)
	}()
	return gone
}
