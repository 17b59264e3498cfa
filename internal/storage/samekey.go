package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"idemlab/internal/intents"
	"idemlab/results"
)

// claimSQL is the INSERT of the strategy insert-first, as the layout takes it.
func (l Layout) claimSQL() string {
	if l.PartitionedBy == ByDay {
		return `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, dia)
		VALUES ($1, $2, $3, 'PROCESSANDO', $4)
		ON CONFLICT (idempotency_key, dia) DO NOTHING
		RETURNING id`
	}
	return `/* claim */
		INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		VALUES ($1, $2, $3, 'PROCESSANDO')
		ON CONFLICT (idempotency_key) DO NOTHING
		RETURNING id`
}

func (l Layout) claimArgs(k pgtype.UUID, order int, at time.Time) []any {
	args := []any{l.argument(k), int64(intents.FirstOrder + order), int64(intents.AmountCents)}
	if l.PartitionedBy == ByDay {
		args = append(args, at)
	}
	return args
}

// claim says whether the key was taken for a new one.
func (j *job) claim(ctx context.Context, k pgtype.UUID, order int, at time.Time) (won bool, err error) {
	var id int64
	err = j.conn.QueryRow(ctx, j.Layout.claimSQL(), j.Layout.claimArgs(k, order, at)...).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("claim a key: %w", err)
	}
	return true, nil
}

// sameKey lets the newest key come again, on its day and on the next, and counts its rows.
func (j *job) sameKey(ctx context.Context) (*results.StorageSameKey, error) {
	n := j.Keys - 1
	at := j.calendar.at(n, j.Keys)
	k := j.Layout.keyOf(j.Seed, n, at)
	var s results.StorageSameKey
	for _, try := range []struct {
		at   time.Time
		rows *int
	}{{at, &s.RowsSameDay}, {at.Add(aDay), &s.RowsNextDay}} {
		if _, err := j.claim(ctx, k, n, try.at); err != nil {
			return nil, err
		}
		err := j.conn.QueryRow(ctx, `/* count */ SELECT count(*) FROM cobranca WHERE idempotency_key = $1`, j.Layout.argument(k)).Scan(try.rows)
		if err != nil {
			return nil, fmt.Errorf("count the rows of a key: %w", err)
		}
	}
	return &s, nil
}
