package race

import (
	"context"
	"sync"
	"time"

	"idemlab/internal/instance"
	"idemlab/scenarios"
)

// local is an instance in this process.
type local struct {
	inst    *instance.Instance
	acquire func(intent string) scenarios.Acquirer
	timeout time.Duration
	hangUp  func() // ends the conversation with an acquirer elsewhere; nil where it is in this process

	gate    chan struct{}
	answers sync.WaitGroup
	records []instance.Record
}

func newLocal(inst *instance.Instance, acquire func(string) scenarios.Acquirer, timeout time.Duration) *local {
	return &local{inst: inst, acquire: acquire, timeout: timeout}
}

func (l *local) warmUp(ctx context.Context) error { return l.inst.WarmUp(ctx) }

// arm starts one goroutine for each attempt and waits until all of them run. No barrier beats a closed channel: at the server,
// whose CPU is the limit, all of them look the same.
func (l *local) arm(ctx context.Context, s salvo) error {
	l.gate = make(chan struct{})
	l.records = make([]instance.Record, len(s.Requests))
	acq := l.acquire(s.Intent)
	var parked sync.WaitGroup
	for i, req := range s.Requests {
		parked.Add(1)
		l.answers.Go(func() {
			parked.Done()
			<-l.gate
			ctx, cancel := context.WithTimeout(ctx, l.timeout)
			defer cancel()
			l.records[i] = l.inst.Handle(ctx, acq, req)
		})
	}
	parked.Wait()
	return nil
}

func (l *local) fire() error { close(l.gate); return nil }

func (l *local) collect() ([]instance.Record, error) {
	l.answers.Wait()
	return l.records, nil
}

func (l *local) close() error {
	l.inst.Close()
	if l.hangUp != nil {
		l.hangUp()
	}
	return nil
}
