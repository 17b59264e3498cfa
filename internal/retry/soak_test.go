//go:build soak

// The long test: go test -tags soak -timeout 0 -run TestSoak ./internal/retry
package retry

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"

	"idemlab/internal/server"
)

// soak is how many customers come in the long tests.
var soak = flag.Int("soak.intents", 10_000, "intents of each run")

// Every fault at 5 %, on a server that keeps what it acknowledges, and then with that server crashing in the middle.
func TestSoakEveryFault(t *testing.T) {
	for _, seed := range []uint64{1, 2, 3} {
		for _, crashes := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed %d, crashes %v", seed, crashes), func(t *testing.T) {
				srv, err := server.Open(t.Context(), server.Options{Connections: 200, Environ: []string{"PATH=" + os.Getenv("PATH")}, Say: t.Logf})
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := srv.Stop(context.Background()); err != nil {
						t.Error(err)
					}
				}()
				var more []string
				if crashes {
					more = []string{fmt.Sprintf("postgres:restart@%d", *soak/2), fmt.Sprintf("postgres:restart@%d", *soak)}
				}
				o := everything(t, *soak, seed, more...)
				o.Concurrency, o.Pool = 32, 16
				r := runOn(t, srv, o)
				soundness(t, r)
				if len(more) != r.Retry.PostgresCrashes {
					t.Errorf("%d crashes", r.Retry.PostgresCrashes)
				}
				t.Logf("%.0f s, %d requests, %d processes, %+v, %+v", r.DurationMS/1000, r.Retry.Requests.Sent, r.Retry.ServiceStarts, r.Retry.Final, *r.Retry.Reconciliation)
			})
		}
	}
}
