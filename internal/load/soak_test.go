//go:build soak

// The long tests: go test -tags soak -timeout 0 -run TestSoak -v ./internal/load
package load

import (
	"flag"
	"os"
	"reflect"
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"idemlab/internal/acquirer"
	"idemlab/internal/server"
	"idemlab/results"
	"idemlab/scenarios"
)

var loadFor = flag.Duration("load-for", 10*time.Minute, "how long to load at full rate")

// durable is a server with PostgreSQL's own settings.
func durable(t *testing.T, connections int) *server.Server {
	t.Helper()
	srv, err := server.Open(t.Context(), server.Options{Connections: connections, Environ: os.Environ(), Say: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Stop(t.Context()) })
	return srv
}

// At full rate the tool keeps a byte for each attempt and no more, and what it showed last while running is what it ends with.
func TestSoakMemoryDoesNotGrow(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Clients, o.Pool, o.Acquirer.Latency, o.HotShare, o.RepeatShare = 16, 16, acquirer.Fixed(0), 0.05, 0.1
	o.Duration, o.Warmup = *loadFor, 2*time.Second
	heap := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	var last Progress
	var early, late uint64
	var attempts int // when early was measured
	o.Live = func(p Progress) {
		if p.Last.Second > last.Last.Second && p.Last.Second%10 == 0 {
			runtime.GC() // so that what is live is known
			metrics.Read(heap)
			late = heap[0].Value.Uint64()
			if early == 0 && p.Elapsed > o.Duration/10 {
				early, attempts = late, p.Total.N
			}
			if p.Last.Second%60 == 0 {
				t.Logf("second %d: %d attempts, %.1f MiB live, p50 %v p99 %v ms", p.Last.Second, p.Total.N, float64(late)/(1<<20), *p.Total.P50MS, *p.Total.P99MS)
			}
		}
		last = p
	}
	r, err := Run(t.Context(), durable(t, 30), o)
	if err != nil || r.Verdict != results.Held {
		t.Fatalf("%v, %s (%s)", err, r.Verdict, r.Reason)
	}
	agrees(t, r)
	n := r.Load.Response.N - attempts
	t.Logf("%d attempts in %v, %.0f a second; live heap %.2f MiB → %.2f MiB over the last %d of them", r.Load.Response.N, o.Duration, r.Load.PerSecond,
		float64(early)/(1<<20), float64(late)/(1<<20), n)
	if grown := int64(late) - int64(early); grown > int64(2*n)+4<<20 {
		t.Errorf("grown by %d bytes over %d attempts", grown, n)
	}
	if !reflect.DeepEqual(last.Total, r.Load.Response) {
		t.Errorf("shown last %+v, ended with %+v", last.Total, r.Load.Response)
	}
}

// Ten thousand attempts under way at once, over a pool of fifty: each has its place in memory, and none is refused in silence.
func TestSoakTenThousandInFlight(t *testing.T) {
	o := small(t, scenarios.InsertFirst)
	o.Clients, o.Rate, o.MaxInFlight, o.Pool = 0, 2500, 10_000, 50
	o.Acquirer.Latency, o.HotShare, o.RepeatShare = acquirer.Fixed(5*time.Second), 0, 0.05
	o.Duration, o.Warmup, o.AttemptTimeout = 12*time.Second, 0, 5*time.Minute
	r, err := Run(t.Context(), durable(t, 70), o)
	if err != nil || r.Verdict != results.Held {
		t.Fatalf("%v, %s (%s)", err, r.Verdict, r.Reason)
	}
	agrees(t, r)
	c := r.Load.Client
	if c.MaxInFlight < 10_000 || c.BytesPerInFlight == nil || *c.BytesPerInFlight > 16<<10 {
		t.Errorf("%+v", c)
	}
	if r.Load.Dropped == 0 || r.Load.Attempts != r.Counts.Attempts || r.Answers["failed"] > 0 {
		t.Errorf("%d attempts measured, %d answered, %d dropped, %v", r.Load.Attempts, r.Counts.Attempts, r.Load.Dropped, r.Answers)
	}
	t.Logf("%d in flight at most, %.1f KiB each; %d attempts, %d dropped", c.MaxInFlight, *c.BytesPerInFlight/1024, r.Load.Attempts, r.Load.Dropped)
}
