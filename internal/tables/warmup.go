package tables

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server"
)

// ForgetWarmUp deletes what warm-ups left, so that whoever looks at the tables afterwards finds charges and nothing else. Their orders
// are below zero. Nobody else may be warming up on the same tables.
func ForgetWarmUp(ctx context.Context, schema *server.Schema) error {
	conn, err := pgx.ConnectConfig(ctx, schema.Config())
	if err != nil {
		return fmt.Errorf("forget the warm-up: %w", err)
	}
	defer server.CloseConn(ctx, conn)
	// A schema of the user's may make fewer tables, or tables that hang together: those that point at an order go first.
	for _, t := range []struct{ table, order string }{
		{"pagamento", "pedido_id"}, {"cobranca_inquilino", "pedido_id"}, {"cobranca", "pedido_id"}, {"pedido", "id"},
	} {
		var there bool
		if err := conn.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL`, t.table).Scan(&there); err != nil {
			return fmt.Errorf("forget the warm-up: %w", err)
		}
		if !there {
			continue
		}
		if _, err := conn.Exec(ctx, fmt.Sprintf(`DELETE FROM %s WHERE %s < 0`, t.table, t.order)); err != nil {
			return fmt.Errorf("forget the warm-up in %s: %w", t.table, err)
		}
	}
	return nil
}
