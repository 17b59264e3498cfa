package load

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/intents"
	"idemlab/internal/server"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

// The hot paths, in benchstat's format. What a timed loop does to a server is in BenchmarkClients, side by side.

func BenchmarkErrand(b *testing.B) {
	p := plan{Seed: 1, RepeatShare: 0.1, HotShare: 0.1, HotKeys: 4, Near: 16}
	for n := uint64(0); b.Loop(); n++ {
		p.request(p.errand(n))
	}
}

func BenchmarkRecord(b *testing.B) {
	m, sum := newMeter(), newTally()
	now := time.Now()
	w := window{Start: now, Warm: now, End: now.Add(time.Hour)}
	rec := instance.Record{
		Answer: scenarios.Charged, HTTP: 201, Body: "{}", Called: now, Sent: now, Answered: now.Add(time.Millisecond),
		Holds: []instance.Hold{{From: now, To: now}, {From: now, To: now}},
	}
	for n := uint64(0); b.Loop(); n++ {
		m.of(n).record(n, now, w, &rec, false)
		if n%2000 == 0 { // as often as at ten thousand a second
			m.collect(sum)
		}
	}
}

func BenchmarkBook(b *testing.B) {
	acq := acquirer.New(acquirer.Options{})
	book := newBook(Options{Scenario: scenarios.ChargeOnce, Instances: 1, Clients: 16, RepeatShare: 0.1}, acq)
	one := make([]fact, 1)
	for n := uint64(0); b.Loop(); n++ {
		e := book.plan.errand(n)
		answer := scenarios.Replayed
		if !e.repeat {
			req := book.plan.request(e)
			answer = scenarios.Charged
			if _, err := acq.For(req.Key).Capture(b.Context(), scenarios.Charge(req)); err != nil {
				b.Fatal(err)
			}
		}
		one[0] = fact{Seq: n, Answer: answer, HTTP: 201, Body: "{}"}
		book.enter(0, one)
	}
	if len(book.odd) > 0 {
		b.Fatalf("%d odd intents", len(book.odd))
	}
}

// BenchmarkClients is a closed loop over insert-first's two statements, acquirer latency 0, on a durable server: written by hand in
// pgx on a pool of the same size, and by the engine. ns/op is the time of one attempt with all clients at work.
func BenchmarkClients(b *testing.B) {
	srv, err := server.Open(b.Context(), server.Options{Connections: 80, Environ: os.Environ(), Say: func(string, ...any) {}})
	if err != nil {
		b.Fatal(err)
	}
	defer srv.Stop(context.WithoutCancel(b.Context()))
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		b.Fatal(err)
	}
	schema, err := tables.Create(b.Context(), srv, string(ddl), scenarios.InsertFirst)
	if err != nil {
		b.Fatal(err)
	}
	defer schema.Drop(context.WithoutCancel(b.Context()))
	var number atomic.Uint64
	for _, clients := range []int{8, 16, 32} {
		b.Run(fmt.Sprintf("pgx/clients=%d", clients), func(b *testing.B) {
			pool := barePool(b, schema.Config(), clients)
			together(b, clients, func(ctx context.Context) error { return bareAttempt(ctx, pool, intents.New(1, number.Add(1))) })
		})
		b.Run(fmt.Sprintf("engine/clients=%d", clients), func(b *testing.B) {
			inst, err := instance.Open(b.Context(), instance.Config{
				Conn: schema.Config(), Pool: clients, Isolation: pgx.ReadCommitted, Strategy: scenarios.InsertFirst, Seed: 1,
			})
			if err != nil {
				b.Fatal(err)
			}
			defer inst.Close()
			if err := inst.WarmUp(b.Context()); err != nil {
				b.Fatal(err)
			}
			acq := acquirer.New(acquirer.Options{})
			d := &driver{job: job{Plan: plan{Seed: 1, Near: 2}, Of: 1, Timeout: time.Minute}, inst: inst, acquire: acq.For, meter: newMeter(), limit: newPatience(time.Minute)}
			base := number.Add(uint64(b.N) + 1<<20)
			sum := newTally()
			var mu sync.Mutex
			together(b, clients, func(ctx context.Context) error {
				seq := d.next.Add(1)
				d.attempt(ctx, ctx, base+seq, time.Now())
				if seq%1000 == 0 { // as the engine does, five times a second
					mu.Lock()
					for _, f := range d.meter.collect(sum) {
						acq.Settle(d.Plan.request(d.errand(f.Seq)).Key)
					}
					mu.Unlock()
				}
				return nil
			})
			number.Add(d.next.Load())
			if sum.Failed > 0 {
				b.Fatalf("%d failed", sum.Failed)
			}
		})
	}
}

// together lets so many clients make b.N calls.
func together(b *testing.B, clients int, call func(context.Context) error) {
	ctx, cancel := context.WithCancel(b.Context()) // as a service's requests have
	defer cancel()
	var left atomic.Int64
	left.Store(int64(b.N))
	cpu := processorTime()
	b.ReportAllocs()
	b.ResetTimer()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(ctx); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64((processorTime()-cpu).Microseconds())/float64(b.N), "client-µs/op")
	b.ReportMetric(float64(runtime.GOMAXPROCS(0)), "procs")
}

func barePool(b *testing.B, cfg *pgx.ConnConfig, clients int) *pgxpool.Pool {
	pc, err := pgxpool.ParseConfig("")
	if err != nil {
		b.Fatal(err)
	}
	pc.ConnConfig, pc.MaxConns, pc.MinConns = cfg, int32(clients), int32(clients)
	pool, err := pgxpool.NewWithConfig(b.Context(), pc)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(pool.Close)
	return pool
}

// bareAttempt is insert-first without the tool.
func bareAttempt(ctx context.Context, pool *pgxpool.Pool, req scenarios.Request) error {
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
		req.Key, "CAPTURADA", 201, `{"captura": "cap-000001", "status": "CAPTURADA", "pedido_id": 1001, "valor_centavos": 25000}`).Scan(&status, &body)
}
