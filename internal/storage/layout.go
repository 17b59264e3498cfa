package storage

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/meter"
)

// Layout is one way to keep keys: the type of their column, the kind of UUID that clients make, and whether the table is
// partitioned, so that expired keys can be dropped with their partition.
type Layout struct {
	Name          string
	Type          string // of the column: text or uuid
	Version       int    // of the UUIDs: 4 or 7
	PartitionedBy string // ByDay, ByKey, or "" for one table
}

// Kinds of partitioning.
const (
	ByDay = "day" // of arrival, which UNIQUE must then contain: the guarantee ends at midnight
	ByKey = "key" // which begins with its own day: UNIQUE (idempotency_key) stays whole
)

// Layouts are all there are, in the order in which they are shown.
func Layouts() []Layout {
	return []Layout{
		{"text-v4", "text", 4, ""},
		{"text-v7", "text", 7, ""},
		{"uuid-v4", "uuid", 4, ""},
		{"uuid-v7", "uuid", 7, ""},
		{"text-v4-by-day", "text", 4, ByDay},
		{"uuid-v7-by-key", "uuid", 7, ByKey},
	}
}

// losesKeys says that the layout cannot tell a key that comes again on another day.
func (l Layout) losesKeys() bool { return l.PartitionedBy == ByDay }

// shape turns the table cobranca of schema.sql into the layout's. What PostgreSQL says to the constraint that the layout cannot
// have is returned in its words.
func (l Layout) shape(ctx context.Context, conn *pgx.Conn, c calendar) (refusal string, err error) {
	if l.Type == "uuid" {
		if err := run(ctx, conn, `ALTER TABLE cobranca ALTER COLUMN idempotency_key TYPE uuid USING idempotency_key::uuid`); err != nil {
			return "", err
		}
	}
	switch l.PartitionedBy {
	case ByDay:
		if refusal, err = refused(ctx, conn, `
			CREATE TABLE so_a_chave (LIKE cobranca, dia date NOT NULL, UNIQUE (idempotency_key))
			PARTITION BY RANGE (dia)`); err != nil {
			return "", err
		}
		err = partition(ctx, conn, `
			CREATE TABLE particionada (LIKE cobranca INCLUDING DEFAULTS INCLUDING IDENTITY, dia date NOT NULL,
			                           PRIMARY KEY (id, dia), UNIQUE (idempotency_key, dia))
			PARTITION BY RANGE (dia)`, c.days(), func(day time.Time) string { return day.Format(time.DateOnly) })
	case ByKey:
		// The key is what the table is ordered by, so it is the primary key, and id, alone in no constraint, has none.
		err = partition(ctx, conn, `
			CREATE TABLE particionada (LIKE cobranca INCLUDING DEFAULTS INCLUDING IDENTITY, PRIMARY KEY (idempotency_key))
			PARTITION BY RANGE (idempotency_key)`, c.days(), func(day time.Time) string { return firstKey(day).String() })
		if err == nil { // for keys of other days and of no day: a client's clock may be wrong, or its UUID random
			err = run(ctx, conn, `CREATE TABLE sem_dia PARTITION OF cobranca DEFAULT`)
		}
	}
	if err != nil {
		return "", err
	}
	return refusal, meter.NoAutovacuum(ctx, conn)
}

// partition makes a partitioned cobranca, and in it a partition for each day.
func partition(ctx context.Context, conn *pgx.Conn, create string, days []time.Time, bound func(time.Time) string) error {
	for _, sql := range []string{create, `DROP TABLE cobranca`, `ALTER TABLE particionada RENAME TO cobranca`} {
		if err := run(ctx, conn, sql); err != nil {
			return err
		}
	}
	for i, day := range days {
		err := run(ctx, conn, fmt.Sprintf(`CREATE TABLE %s PARTITION OF cobranca FOR VALUES FROM ('%s') TO ('%s')`,
			dayTable(i), bound(day), bound(day.Add(aDay))))
		if err != nil {
			return err
		}
	}
	return nil
}

// dayTable is the partition of the nth day.
func dayTable(n int) string { return fmt.Sprintf("dia_%d", n) }

// refused runs what PostgreSQL must refuse, and returns its words.
func refused(ctx context.Context, conn *pgx.Conn, sql string) (string, error) {
	err := run(ctx, conn, sql)
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return "", fmt.Errorf("PostgreSQL took what it was to refuse:%s", sql)
	case errors.As(err, &pg) && pg.Code == "0A000": // feature_not_supported
		return fmt.Sprintf("%s (SQLSTATE %s)", pg.Message, pg.Code), nil
	}
	return "", err
}

func run(ctx context.Context, conn *pgx.Conn, sql string) error {
	if _, err := conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	return nil
}
