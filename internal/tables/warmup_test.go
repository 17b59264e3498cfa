package tables

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/instance"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

// A warm-up leaves rows, and they can be forgotten without touching any other; also where the schema makes one table alone.
func TestForgetWarmUp(t *testing.T) {
	const article = `CREATE TABLE cobranca (id bigint GENERATED ALWAYS AS IDENTITY, idempotency_key text UNIQUE, pedido_id bigint,
		valor_centavos bigint, status text, resposta_http int, resposta_corpo jsonb)`
	for _, c := range []struct {
		s      scenarios.Strategy
		ddl    string
		tables []string
	}{
		{scenarios.BusinessEvent, articleDDL(t), []string{"cobranca", "pagamento"}},
		{scenarios.ForUpdateOrder, articleDDL(t), []string{"cobranca", "pedido"}},
		{scenarios.InsertFirst, article, []string{"cobranca"}},
	} {
		t.Run(c.s.Name, func(t *testing.T) {
			schema, err := Create(t.Context(), servertest.Server(t), c.ddl, c.s)
			if err != nil {
				t.Fatal(err)
			}
			defer schema.Drop(t.Context())
			conn, err := pgx.ConnectConfig(t.Context(), schema.Config())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			inst, err := instance.Open(t.Context(), instance.Config{Conn: schema.Config(), Pool: 2, Isolation: pgx.ReadCommitted, Strategy: c.s})
			if err != nil {
				t.Fatal(err)
			}
			defer inst.Close()
			if err := inst.WarmUp(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Exec(t.Context(), `INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status) VALUES ('k', 1, 1, 'PROCESSANDO')`); err != nil {
				t.Fatal(err)
			}
			rows := func() (n []int) {
				for _, table := range c.tables {
					var in int
					if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&in); err != nil {
						t.Fatal(err)
					}
					n = append(n, in)
				}
				return n
			}
			before := rows()
			if err := ForgetWarmUp(t.Context(), schema); err != nil {
				t.Fatal(err)
			}
			for i, n := range rows() {
				want := 0
				if i == 0 {
					want = 1
				}
				if before[i] <= want || n != want {
					t.Errorf("%s: %d rows before, %d after, want %d", c.tables[i], before[i], n, want)
				}
			}
		})
	}
}
