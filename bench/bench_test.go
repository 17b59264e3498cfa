// Package bench measures what batching buys; bench/run says how to run it. It holds no tests.
package bench

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"crypto/rand"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// turn is for how long each side works before it is another's turn.
const turn = 2 * time.Second

// BenchmarkInsertFirst lets three do the same by turns: charge under a new key, as often as they can, with an acquirer that takes no
// time. The ratios are of turns that follow one another, on one server.
func BenchmarkInsertFirst(b *testing.B) {
	srv, err := server.Open(b.Context(), server.Options{Connections: 64, Environ: []string{"PATH=" + os.Getenv("PATH"), "IDEMLAB_PG_BIN=" + os.Getenv("IDEMLAB_PG_BIN")}})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Stop(context.WithoutCancel(b.Context()))
	if why := srv.Info().NotDurable; why != "" {
		b.Fatalf("not durable: %s; nothing that this would measure holds elsewhere", why)
	}
	for _, clients := range []int{8, 16} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			var m measured
			for b.Loop() {
				m.round(b, srv, clients)
			}
			m.report(b)
		})
	}
}

// measured are the rounds of one number of clients.
type measured struct {
	pgbench, plain, batched []float64 // charges a second
	ratios                  []float64 // of batched to pgbench
	plainP99, batchedP99    []float64 // milliseconds
}

func (m *measured) round(b *testing.B, srv *server.Server, clients int) {
	pg := pgbench(b, srv, clients)
	plain, plainP99 := charge(b, srv, scenarios.InsertFirst, clients)
	batched, batchedP99 := charge(b, srv, scenarios.InsertFirstBatched, clients)
	b.Logf("pgbench %.0f/s, insert-first %.0f/s p99 %.2f ms, batched %.0f/s p99 %.2f ms: %.2f × pgbench", pg, plain, plainP99, batched, batchedP99, batched/pg)
	m.pgbench, m.plain, m.batched = append(m.pgbench, pg), append(m.plain, plain), append(m.batched, batched)
	m.ratios = append(m.ratios, batched/pg)
	m.plainP99, m.batchedP99 = append(m.plainP99, plainP99), append(m.batchedP99, batchedP99)
}

func (m *measured) report(b *testing.B) {
	b.ReportMetric(0, "ns/op") // a round lasts as long as it lasts
	b.ReportMetric(at(m.pgbench, 0.5), "pgbench/s")
	b.ReportMetric(at(m.plain, 0.5), "insert-first/s")
	b.ReportMetric(at(m.batched, 0.5), "batched/s")
	b.ReportMetric(at(m.ratios, 0), "min-ratio")
	b.ReportMetric(at(m.ratios, 0.5), "median-ratio")
	b.ReportMetric(at(m.ratios, 1), "max-ratio")
	b.ReportMetric(at(m.plainP99, 0.5), "insert-first-p99-ms")
	b.ReportMetric(at(m.batchedP99, 0.5), "batched-p99-ms")
}

// at is a quantile, by nearest rank.
func at[T cmp.Ordered](values []T, q float64) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1))]
}

// place makes the tables.
func place(b *testing.B, srv *server.Server, s scenarios.Strategy) *server.Schema {
	ddl, err := os.ReadFile("../schema.sql")
	if err != nil {
		b.Fatal(err)
	}
	schema, err := tables.Create(b.Context(), srv, string(ddl), s)
	if err != nil {
		b.Fatal(err)
	}
	return schema
}

func drop(b *testing.B, schema *server.Schema) {
	if err := schema.Drop(context.WithoutCancel(b.Context())); err != nil {
		b.Error(err)
	}
}

// pgbench returns how many charges a second PostgreSQL's own tool makes.
func pgbench(b *testing.B, srv *server.Server, clients int) float64 {
	schema := place(b, srv, scenarios.InsertFirst)
	defer drop(b, schema)
	cmd := exec.CommandContext(b.Context(), pgbenchPath(b), "--no-vacuum", "--protocol=prepared", "--client="+strconv.Itoa(clients),
		"--time="+strconv.Itoa(int(turn.Seconds())), "--file=insert-first.sql", srv.DSN())
	cmd.Env = append(os.Environ(), "PGOPTIONS=-c search_path="+schema.Name())
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("pgbench: %v\n%s", err, out)
	}
	tps := regexp.MustCompile(`(?m)^tps = ([\d.]+)`).FindSubmatch(out)
	if tps == nil {
		b.Fatalf("pgbench says no tps:\n%s", out)
	}
	rate, err := strconv.ParseFloat(string(tps[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return rate
}

// pgbenchPath prefers the one beside the server's binaries: the one in Debian's PATH is a script that chooses among them.
func pgbenchPath(b *testing.B) string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench") // the pattern is well formed
	if bin := os.Getenv("IDEMLAB_PG_BIN"); bin != "" {
		found = append(found, filepath.Join(bin, "pgbench"))
	}
	for _, path := range slices.Backward(found) {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("pgbench")
	if err != nil {
		b.Fatalf("%v; it comes with PostgreSQL: %s", err, server.InstallCommand())
	}
	return path
}

// charge returns how many charges a second as many goroutines make over one pool, and the 99th percentile of what one takes, in
// milliseconds.
func charge(b *testing.B, srv *server.Server, s scenarios.Strategy, clients int) (rate, p99 float64) {
	schema := place(b, srv, s)
	defer drop(b, schema)
	inst, err := instance.Open(b.Context(), instance.Config{Conn: schema.Config(), Pool: clients, Isolation: pgx.ReadCommitted, Strategy: s})
	if err != nil {
		b.Fatal(err)
	}
	defer inst.Close()
	if err := inst.WarmUp(b.Context()); err != nil {
		b.Fatal(err)
	}
	acq := acquirer.New(acquirer.Options{})
	took := make([][]float64, clients)
	began := time.Now()
	var wg sync.WaitGroup
	for i := range clients {
		wg.Go(func() {
			for asked := time.Now(); asked.Sub(began) < turn; {
				key := rand.Text()
				rec := inst.Handle(b.Context(), acq.For(key), scenarios.Request{Key: key, OrderID: 1, AmountCents: 25000})
				if rec.Answer != scenarios.Charged {
					b.Errorf("told %s: %s", rec.Answer, rec.Err)
					return
				}
				now := time.Now()
				took[i] = append(took[i], float64(now.Sub(asked))/1e6)
				asked = now
			}
		})
	}
	wg.Wait()
	rate = float64(len(slices.Concat(took...))) / time.Since(began).Seconds()
	once(b, acq, schema, len(slices.Concat(took...)))
	return rate, at(slices.Concat(took...), 0.99)
}

// once checks that each charge was made once, and stands in the table once.
func once(b *testing.B, acq *acquirer.Acquirer, schema *server.Schema, charges int) {
	for key, c := range acq.Counts() {
		if c.Captures != 1 {
			b.Errorf("%d captures under %s", c.Captures, key)
		}
	}
	conn, err := pgx.ConnectConfig(b.Context(), schema.Config())
	if err != nil {
		b.Fatal(err)
	}
	defer server.CloseConn(b.Context(), conn)
	var rows int
	err = conn.QueryRow(b.Context(), `SELECT count(*) FROM cobranca WHERE status = 'CAPTURADA' AND pedido_id > 0`).Scan(&rows)
	if err != nil || rows != charges || len(acq.Counts()) != charges {
		b.Errorf("%d charges, %d at the acquirer, %d recorded, %v", charges, len(acq.Counts()), rows, err)
	}
}
