package storage

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"idemlab/results"
)

// sizes are the bytes of the table's files, its partitions' together.
type sizes struct{ heap, key, others int64 }

func (s sizes) total() int64 { return s.heap + s.key + s.others }

// measure asks for the size of each table and each index. The index on the key is the one that begins with it. From PostgreSQL 16 on a COPY
// adds up to 64 pages ahead, which are in the heap's size, and show where keys are few.
func measure(ctx context.Context, conn *pgx.Conn) (s sizes, err error) {
	err = conn.QueryRow(ctx, `/* size */
		WITH tables AS (
		     SELECT 'cobranca'::regclass AS oid
		      UNION ALL
		     SELECT inhrelid FROM pg_inherits WHERE inhparent = 'cobranca'::regclass),
		indexes AS (
		     SELECT pg_relation_size(i.indexrelid) AS bytes, a.attname = 'idempotency_key' AS of_key
		       FROM tables t
		       JOIN pg_index i     ON i.indrelid = t.oid
		       JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0])
		SELECT (SELECT sum(pg_relation_size(oid)) FROM tables)::bigint,
		       (SELECT coalesce(sum(bytes) FILTER (WHERE of_key), 0) FROM indexes)::bigint,
		       (SELECT coalesce(sum(bytes) FILTER (WHERE NOT of_key), 0) FROM indexes)::bigint`).
		Scan(&s.heap, &s.key, &s.others)
	if err != nil {
		return s, fmt.Errorf("measure the table: %w", err)
	}
	return s, nil
}

func (s sizes) document(keys int) *results.StorageSize {
	per := func(bytes int64) float64 { return float64(bytes) / float64(keys) }
	return &results.StorageSize{
		HeapBytes: s.heap, UniqueIndexBytes: s.key, OtherIndexesBytes: s.others,
		HeapBytesPerKey: per(s.heap), UniqueIndexBytesPerKey: per(s.key), OtherIndexBytesPerKey: per(s.others),
		BytesPerKey: per(s.total()),
	}
}
