package retry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"idemlab/internal/child"
	"idemlab/internal/service"
)

// fleet is the service's processes, each at its place: where one dies, another one takes its place.
type fleet struct {
	command []string
	setup   setup
	conns   int // that a client keeps ready
	asked   func(question) bool
	died    func(place int) // a process ended that had not been told to
	slots   []*slot
	running sync.WaitGroup

	kills, starts atomic.Int64
	failed        chan error // why a place stays empty; one is enough
}

// slot is one place: the process that is there now, and how to reach it.
type slot struct {
	mu      sync.Mutex
	client  *service.Client // nil while nobody is there
	changed chan struct{}   // closed when that changes
	process *child.Process
	enc     *json.Encoder
	dec     *json.Decoder // only for who converses
	stop    bool
}

// startLimit is how long a place may stay empty: a server that crashed needs some seconds until it lets anybody in.
const startLimit = 60 * time.Second

// startFleet starts the processes and waits until each of them can be reached. The end of ctx kills them.
func startFleet(ctx context.Context, f *fleet, places int) error {
	f.failed = make(chan error, 1)
	for n := range places {
		s := &slot{changed: make(chan struct{})}
		f.slots = append(f.slots, s)
		f.running.Add(1)
		go func() {
			defer f.running.Done()
			f.keep(ctx, n, s)
		}()
	}
	for _, s := range f.slots {
		if _, err := f.client(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// keep keeps a process at a place until the fleet is told to stop.
func (f *fleet) keep(ctx context.Context, place int, s *slot) {
	for {
		if err := f.begin(ctx, s); err != nil {
			if ctx.Err() == nil && !s.stopping() {
				select {
				case f.failed <- fmt.Errorf("start the service's process: %w", err):
				default:
				}
			}
			return
		}
		f.converse(s)
		s.leave()
		if ctx.Err() != nil || s.stopping() {
			return
		}
		f.kills.Add(1)
		f.died(place)
	}
}

// begin starts a process and waits until it listens. One that cannot reach the server is started again, for a while.
func (f *fleet) begin(ctx context.Context, s *slot) error {
	for limit := time.Now().Add(startLimit); ; {
		err := f.start(ctx, s)
		if err == nil || ctx.Err() != nil || s.stopping() || time.Now().After(limit) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond): // a server that recovers tells nobody when it has
		}
	}
}

func (f *fleet) start(ctx context.Context, s *slot) error {
	p, err := child.Start(ctx, f.command)
	if err != nil {
		return err
	}
	enc, dec := json.NewEncoder(p.In), json.NewDecoder(p.Out)
	var r report
	if err = enc.Encode(f.setup); err == nil {
		err = dec.Decode(&r)
	}
	switch {
	case err != nil:
		err = p.Gone(err)
	case r.Error != "":
		err = errors.New(r.Error)
	case r.URL == "":
		err = p.Gone(errors.New("it said nothing"))
	}
	if err != nil {
		return errors.Join(err, p.Close())
	}
	f.starts.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.enc, s.dec = p, enc, dec
	s.client = service.Dial(r.URL, f.conns)
	if s.stop { // told while it started
		_ = enc.Encode(order{Stop: true})
	}
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// converse answers the process's questions until it is gone.
func (f *fleet) converse(s *slot) {
	for {
		var r report
		if err := s.dec.Decode(&r); err != nil {
			return
		}
		if r.Ask == nil {
			continue
		}
		struck := f.asked(*r.Ask)
		s.mu.Lock()
		_ = s.enc.Encode(order{ID: r.Ask.ID, Struck: struck}) // it may be gone by now, which the next read tells
		s.mu.Unlock()
	}
}

// leave empties the place.
func (s *slot) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client.Close()
	s.client = nil
	_ = s.process.Close() // killed, as a rule
}

func (s *slot) stopping() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop
}

// client waits for who is at a place.
func (f *fleet) client(ctx context.Context, s *slot) (*service.Client, error) {
	for {
		s.mu.Lock()
		c, changed := s.client, s.changed
		s.mu.Unlock()
		if c != nil {
			return c, nil
		}
		select {
		case <-changed:
		case err := <-f.failed:
			f.failed <- err // for whoever else asks
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// end lets the processes finish what is in flight, and waits for them.
func (f *fleet) end() {
	for _, s := range f.slots {
		s.mu.Lock()
		s.stop = true
		if s.client != nil {
			_ = s.enc.Encode(order{Stop: true})
		}
		s.mu.Unlock()
	}
	f.running.Wait()
}
