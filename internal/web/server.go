package web

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// Server answers until it is told to stop, and then lets the requests in flight end.
type Server struct {
	Handler http.Handler
	// Grace is how long requests in flight may take when the server is told to stop.
	Grace time.Duration
	// Cut is called when Grace is over and requests are still in flight: whatever they wait for must end then. Optional.
	Cut func()
	// Draining is told how many requests were in flight when the server was told to stop, if any were: what is waited for. Optional.
	Draining func(requests int64)
	// Log receives what net/http complains of, such as a handler that panicked.
	Log io.Writer

	readLimit time.Duration // what a client gets to send its request; 0 is the default. For tests
}

// CutError says that requests were in flight when there was no more time for them: their clients learned nothing.
type CutError struct {
	Requests int64
	Grace    time.Duration
}

// Error says how many, and after how long.
func (e *CutError) Error() string {
	return fmt.Sprintf("%d of the requests in flight did not end within %v and were cut off", e.Requests, e.Grace)
}

// cutLimit is what handlers get to notice that they were cut off.
const cutLimit = 5 * time.Second

// Limits on what a client may take its time with. None on the answer: an acquirer may be slow, and the attempt has its own limit.
const (
	headerLimit = 10 * time.Second
	readLimit   = 30 * time.Second
	idleLimit   = 2 * time.Minute
)

// Run serves on l until ctx ends, takes no more connections then, and returns when the requests in flight have been answered,
// or a *CutError when Grace was not enough for them. The listener is closed in any case.
func (s Server) Run(ctx context.Context, l net.Listener) error {
	var inFlight atomic.Int64
	srv := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			inFlight.Add(1)
			defer inFlight.Add(-1)
			s.Handler.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerLimit, ReadTimeout: cmp.Or(s.readLimit, readLimit), IdleTimeout: idleLimit,
		ErrorLog: log.New(s.Log, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve on %s: %w", l.Addr(), err)
	case <-ctx.Done():
	}
	if n := inFlight.Load(); n > 0 && s.Draining != nil {
		s.Draining(n)
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Grace)
	defer cancel()
	err := srv.Shutdown(last)
	<-ended
	if err == nil {
		return nil
	}
	cut := &CutError{Requests: inFlight.Load(), Grace: s.Grace}
	if s.Cut != nil {
		s.Cut()
	}
	_ = srv.Close() // closes what there is no more time for
	awaitNone(&inFlight)
	if cut.Requests == 0 {
		return nil // connections on which nothing was being done
	}
	return cut
}

// awaitNone waits until no handler is at work, but not for ever: one that does not notice must not keep the process alive. It looks
// again and again, because a request that was read just now may still begin, which a WaitGroup would not bear.
func awaitNone(inFlight *atomic.Int64) {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(cutLimit); inFlight.Load() > 0 && time.Now().Before(limit); {
		<-tick.C
	}
}
