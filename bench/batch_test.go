package bench

import (
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/intents"
	"idemlab/internal/server"
	"idemlab/scenarios"
)

// statementOf is the SQL that insert-first-batched has for a step.
func statementOf(b *testing.B, step string) string {
	source, err := os.ReadFile("../scenarios/insert_first_batched.go")
	if err != nil {
		b.Fatal(err)
	}
	sql := regexp.MustCompile("(?s)`(/\\* " + step + " \\*/[^`]+)`").FindSubmatch(source)
	if sql == nil {
		b.Fatalf("insert-first-batched has no step %q", step)
	}
	return string(sql[1])
}

// batchesByHand returns how many charges a second two statements make of which each is for so many charges, one after the other on one
// connection. Nobody has to be waited for and nobody is told, so that who batches for clients cannot be quicker on one connection; on two,
// whose flushes wait for each other, it is slower where it was measured.
func batchesByHand(b *testing.B, srv *server.Server, size int) float64 {
	schema := place(b, srv, scenarios.InsertFirst)
	defer drop(b, schema)
	conn, err := pgx.ConnectConfig(b.Context(), schema.Config())
	if err != nil {
		b.Fatal(err)
	}
	defer server.CloseConn(b.Context(), conn)
	claim, record := statementOf(b, "claim"), statementOf(b, "record")
	run := func(sql string, args ...any) {
		rows, err := conn.Query(b.Context(), sql, args...)
		if err != nil {
			b.Fatal(err)
		}
		for rows.Next() {
		}
		if n := rows.CommandTag().RowsAffected(); rows.Err() != nil || n != int64(size) {
			b.Fatalf("%d rows of %d: %v", n, size, rows.Err())
		}
	}
	keys, statuses, bodies := make([]string, size), make([]string, size), make([]string, size)
	orders, cents, codes := make([]int64, size), make([]int64, size), make([]int, size)
	var number uint64
	counted := 0
	began := time.Now()
	for since := time.Duration(0); since < turn; since = time.Since(began) {
		for i := range size {
			req := intents.New(1, number)
			number++
			keys[i], orders[i], cents[i] = req.Key, req.OrderID, req.AmountCents
			statuses[i], codes[i], bodies[i] = "CAPTURADA", 201, `{"captura": "cap-000001", "status": "CAPTURADA"}`
		}
		run(claim, keys, orders, cents)
		run(record, keys, statuses, codes, bodies)
		if ended := time.Since(began); ended >= warmup && ended < turn {
			counted += size
		}
	}
	return float64(counted) / (turn - warmup).Seconds()
}
