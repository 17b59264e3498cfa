// Package bench measures, side by side on one durable server, what the tool adds to a strategy and what batching takes from it;
// bench/run says how to run it. It holds no tests.
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"idemlab/internal/acquirer"
	"idemlab/internal/check"
	"idemlab/internal/intents"
	"idemlab/internal/load"
	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// turn is for how long each side works before it is another's turn, warm-up a part of it that is not counted.
const (
	turn   = 3 * time.Second
	warmup = 500 * time.Millisecond
)

// BenchmarkInsertFirst lets five do the same by turns: charge under a new key, as often as they can, with an acquirer that takes no
// time. They are pgbench, a loop written by hand in pgx, under idemlab load insert-first and insert-first-batched, and the latter's two
// statements by hand on one connection, without clients who come and go. The ratios are of turns that follow one another, on one server.
func BenchmarkInsertFirst(b *testing.B) {
	srv, err := server.Open(b.Context(), server.Options{
		Connections: 80, Environ: []string{"PATH=" + os.Getenv("PATH"), "IDEMLAB_PG_BIN=" + os.Getenv("IDEMLAB_PG_BIN")}, Say: func(string, ...any) {},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Stop(context.WithoutCancel(b.Context()))
	if why := srv.Info().NotDurable; why != "" {
		b.Fatalf("not durable: %s; nothing that this would measure holds elsewhere", why)
	}
	for _, clients := range []int{8, 16, 32} {
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
	pgbench, pgx, plain, batched []float64 // charges a second
	plainToPGX, plainToPgbench   []float64
	batchedToPgbench             []float64
	byHandToPgbench              []float64 // what insert-first-batched could come to: its statements with nothing around them
	batchedToByHand              []float64
	plainP99, batchedP99         []float64 // milliseconds
	plainCPU                     []float64 // µs of the client's processor time for a charge
}

func (m *measured) round(b *testing.B, srv *server.Server, clients int) {
	var bench, bare, batches float64
	var plain, batched charges
	sides := []func(){
		func() { bench = pgbench(b, srv, clients) },
		func() { bare = byHand(b, srv, clients) },
		func() { plain = charge(b, srv, scenarios.InsertFirst, clients) },
		func() { batched = charge(b, srv, scenarios.InsertFirstBatched, clients) },
		func() { batches = batchesByHand(b, srv, clients) },
	}
	for i := range sides { // another begins in each round: what one leaves for the disk to do, the next one feels
		sides[(i+len(m.pgx))%len(sides)]()
	}
	b.Logf("%d clients: pgbench %.0f/s, pgx %.0f/s, insert-first %.0f/s p99 %.2f ms %.0f µs CPU, batched %.0f/s p99 %.2f ms; insert-first %.2f × pgx, %.2f × pgbench; batched %.2f × pgbench, its statements by hand %.2f",
		clients, bench, bare, plain.rate, plain.p99, plain.cpu, batched.rate, batched.p99, plain.rate/bare, plain.rate/bench, batched.rate/bench, batches/bench)
	m.byHandToPgbench, m.batchedToByHand = append(m.byHandToPgbench, batches/bench), append(m.batchedToByHand, batched.rate/batches)
	m.pgbench, m.pgx, m.plain, m.batched = append(m.pgbench, bench), append(m.pgx, bare), append(m.plain, plain.rate), append(m.batched, batched.rate)
	m.plainToPGX, m.plainToPgbench = append(m.plainToPGX, plain.rate/bare), append(m.plainToPgbench, plain.rate/bench)
	m.batchedToPgbench = append(m.batchedToPgbench, batched.rate/bench)
	m.plainP99, m.batchedP99, m.plainCPU = append(m.plainP99, plain.p99), append(m.batchedP99, batched.p99), append(m.plainCPU, plain.cpu)
}

func (m *measured) report(b *testing.B) {
	b.ReportMetric(0, "ns/op") // a round lasts as long as it lasts
	for unit, values := range map[string][]float64{
		"pgbench/s": m.pgbench, "pgx/s": m.pgx, "insert-first/s": m.plain, "batched/s": m.batched,
		"insert-first/pgx": m.plainToPGX, "insert-first/pgbench": m.plainToPgbench, "batched/pgbench": m.batchedToPgbench,
		"insert-first-p99-ms": m.plainP99, "batched-p99-ms": m.batchedP99, "insert-first-cpu-µs": m.plainCPU,
		"by-hand/pgbench": m.byHandToPgbench, "batched/by-hand": m.batchedToByHand,
	} {
		b.ReportMetric(at(values, 0.5), unit)
	}
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

// pgbench returns how many charges a second PostgreSQL's own tool makes. It knows no warm-up and no half seconds: a second on the same
// tables before its turn stands for one.
func pgbench(b *testing.B, srv *server.Server, clients int) float64 {
	schema := place(b, srv, scenarios.InsertFirst)
	defer drop(b, schema)
	runPgbench(b, srv, schema, clients, time.Second)
	return runPgbench(b, srv, schema, clients, turn)
}

func runPgbench(b *testing.B, srv *server.Server, schema *server.Schema, clients int, length time.Duration) float64 {
	cmd := exec.CommandContext(b.Context(), pgbenchPath(b), "--no-vacuum", "--protocol=prepared", "--client="+strconv.Itoa(clients),
		"--time="+strconv.Itoa(int(length.Seconds())), "--file=insert-first.sql", srv.DSN())
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

// charges are what a turn under load came to.
type charges struct{ rate, p99, cpu float64 }

// charge lets idemlab load charge, and checks that each charge was made once, and stands in the table once.
func charge(b *testing.B, srv *server.Server, s scenarios.Strategy, clients int) charges {
	ddl, err := os.ReadFile("../schema.sql")
	if err != nil {
		b.Fatal(err)
	}
	r, err := load.Run(b.Context(), srv, load.Options{
		Scenario: s.Scenario(), Strategy: s, Clients: clients, Duration: turn - warmup, Warmup: warmup, Instances: 1, Pool: clients,
		Isolation: pgx.ReadCommitted, Acquirer: acquirer.Options{}, AttemptTimeout: time.Minute, Seed: 1, Expect: check.ExpectClaim, DDL: string(ddl),
	})
	if err != nil {
		b.Fatal(err)
	}
	if c := r.Counts; c.Captures != c.Attempts || *c.Rows != c.Attempts || r.Answers["charged"] != c.Attempts || c.DuplicateCaptures > 0 {
		b.Errorf("%s: %d attempts, %d captures, %d rows, %v", s.Name, c.Attempts, c.Captures, *c.Rows, r.Answers)
	}
	c := charges{rate: r.Load.PerSecond}
	if p := r.Load.Response.P99MS; p != nil {
		c.p99 = *p
	}
	if cpu := r.Load.Client.CPUUSPerAttempt; cpu != nil {
		c.cpu = *cpu
	}
	return c
}

// byHand is insert-first without the tool: as many goroutines over a pool of as many connections, under a context that can be
// cancelled, as a service's requests have.
func byHand(b *testing.B, srv *server.Server, clients int) float64 {
	schema := place(b, srv, scenarios.InsertFirst)
	defer drop(b, schema)
	pc, err := pgxpool.ParseConfig("")
	if err != nil {
		b.Fatal(err)
	}
	pc.ConnConfig, pc.MaxConns, pc.MinConns = schema.Config(), int32(clients), int32(clients)
	pool, err := pgxpool.NewWithConfig(b.Context(), pc)
	if err != nil {
		b.Fatal(err)
	}
	defer pool.Close()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var number atomic.Uint64
	var counted atomic.Int64
	began := time.Now()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for asked := time.Now(); asked.Sub(began) < turn; asked = time.Now() {
				if err := chargeByHand(ctx, pool, intents.New(1, number.Add(1))); err != nil {
					b.Error(err)
					return
				}
				if since := time.Since(began); since >= warmup && since < turn {
					counted.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(counted.Load()) / (turn - warmup).Seconds()
}

func chargeByHand(ctx context.Context, pool *pgxpool.Pool, req scenarios.Request) error {
	var id int64
	err := pool.QueryRow(ctx, `
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`, req.Key, req.OrderID, req.AmountCents).Scan(&id)
	if err != nil {
		return err
	}
	var status int
	var body string
	return pool.QueryRow(ctx, `
		UPDATE cobranca
		   SET status = $2, resposta_http = $3, resposta_corpo = $4
		 WHERE idempotency_key = $1
		RETURNING resposta_http, resposta_corpo::text`,
		req.Key, "CAPTURADA", 201, `{"captura": "cap-000001", "status": "CAPTURADA"}`).Scan(&status, &body)
}
