package report

import (
	"bytes"
	"strings"
	"testing"

	"idemlab/results"
)

// Whoever reads of a failure in CI finds there what to type.
func TestAFailureSaysWhatToTypeAgain(t *testing.T) {
	failed := []results.Gate{{Expr: "duration_ms>0", Op: ">", Value: 1.0, Limit: 0.0, Outcome: results.GateFailed}}
	server := results.Server{Isolation: "read committed"}
	for want, r := range map[string]results.Run{
		"idemlab expiry --strategy=insert-first --key-lifetime 24h --retry-after 25h0m1s --purge finished --intents 10 --unfinished 2 --fresh 3 --batch 4" +
			" --decline-share 0.5 --acquirer-dedup --isolation &#39;read committed&#39; --seed 7<": {
			Engine: "expiry", Strategy: "insert-first", Server: server, Seed: 7,
			Expiry: &results.Expiry{Settings: results.ExpirySettings{KeyLifetimeS: 86400, RetryAfterS: 90001, Purge: "finished", Answered: 10, Unfinished: 2, Fresh: 3, Batch: 4,
				DeclineShare: 0.5, Dedup: true}},
		},
		"idemlab neighbours --constraint=tenant-key<": {Engine: "neighbours", Strategy: "tenant-key", Server: server, Neighbours: &results.Neighbours{}},
	} {
		r.Status, r.Gates = results.Complete, failed
		var b bytes.Buffer
		if err := JUnit(&b, results.Document{Runs: []results.Run{r}}); err != nil {
			t.Fatal(err)
		}
		if _, body, ok := strings.Cut(b.String(), "<failure"); !ok || !strings.Contains(body, want) {
			t.Errorf("%s has no\n%s", b.String(), want)
		}
	}
}
