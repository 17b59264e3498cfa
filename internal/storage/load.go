package storage

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/intents"
)

// chunk is how many rows one COPY brings: many enough to be quick, few enough that an interruption is heard soon.
const chunk = 20_000

// load fills the table with finished charges, their answer stored, in the order in which they arrived. The indexes are there from
// the start: built afterwards they would be packed as they never are in a service.
func (j *job) load(ctx context.Context) error {
	columns := []string{"idempotency_key", "pedido_id", "valor_centavos", "status", "resposta_http", "resposta_corpo", "criada_em"}
	if j.Layout.PartitionedBy == ByDay {
		columns = append(columns, "dia")
	}
	for from := 0; from < j.Keys; from += chunk {
		next, to := from, min(from+chunk, j.Keys)
		source := pgx.CopyFromFunc(func() ([]any, error) {
			if next == to {
				return nil, nil
			}
			row := j.row(next)
			next++
			return row, nil
		})
		if _, err := j.conn.CopyFrom(ctx, pgx.Identifier{"cobranca"}, columns, source); err != nil {
			return fmt.Errorf("load keys %d to %d: %w", from+1, to, err)
		}
		j.done(to - from)
	}
	return nil
}

// row is the nth charge as a strategy leaves it.
func (j *job) row(n int) []any {
	at := j.calendar.at(n, j.Keys)
	row := []any{j.Layout.argument(j.Layout.keyOf(j.Seed, n, at)), int64(intents.FirstOrder + n), int64(intents.AmountCents), "CAPTURADA", int32(201), answer(n), at}
	if j.Layout.PartitionedBy == ByDay {
		row = append(row, at)
	}
	return row
}

// answer is what scenarios' strategies store of the nth capture.
func answer(n int) string {
	return fmt.Sprintf(`{"captura": "cap-%06d", "status": "CAPTURADA"}`, n+1)
}
