package tables

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"idemlab/scenarios"
)

// key is what a unique constraint is on.
type key struct {
	table   string
	columns []string
}

// keyNamed is the key of one of the constraints that strategies name in Needs and Without.
func keyNamed(constraint string) key {
	if constraint == scenarios.TenantKeyConstraint {
		return key{"cobranca_inquilino", []string{"inquilino", "idempotency_key"}}
	}
	return key{"cobranca", []string{"idempotency_key"}}
}

func (k key) list() string { return "(" + strings.Join(k.columns, ", ") + ")" }

func (k key) unique() string { return "UNIQUE " + k.list() }

func (k key) inWords() string { return k.unique() + " on " + k.table }

// sorted is for comparing: an index is on its columns in any order.
func (k key) sorted() []string { return slices.Sorted(slices.Values(k.columns)) }

// onKey is true of an index i on exactly the columns $2, whatever it includes besides. (An int2vector counts from 0.)
const onKey = `(SELECT array_agg(a.attname::text ORDER BY a.attname::text COLLATE "C")
		          FROM pg_attribute a
		         WHERE a.attrelid = i.indrelid AND a.attnum = ANY ((i.indkey::int2[])[0:i.indnkeyatts - 1])) = $2`

// isUnique looks for what ON CONFLICT with those columns can infer: a valid, immediate, whole unique index on them alone, whatever its name
// (PostgreSQL docs, INSERT, "ON CONFLICT Clause").
func (k key) isUnique(ctx context.Context, conn *pgx.Conn) (bool, error) {
	var found bool
	err := conn.QueryRow(ctx, `
		SELECT EXISTS (
			SELECT FROM pg_index i
			 WHERE i.indrelid = to_regclass($1)
			   AND i.indisunique AND i.indisvalid AND i.indimmediate
			   AND i.indpred IS NULL AND i.indexprs IS NULL
			   AND `+onKey+`)`, k.table, k.sorted()).Scan(&found)
	return found, err
}

// lookFor says what the constraint of that name is on, and whether there is one on it.
func lookFor(ctx context.Context, conn *pgx.Conn, constraint string) (k key, unique bool, err error) {
	k = keyNamed(constraint)
	if unique, err = k.isUnique(ctx, conn); err != nil {
		err = fmt.Errorf("look for constraint %s: %w", constraint, err)
	}
	return k, unique, err
}

// doWithout drops the constraint, under whatever name the schema gives it, and leaves a plain index in its place, so that only
// the refusal goes and not the speed of the lookup. A schema that never had the constraint is as good.
func (k key) doWithout(ctx context.Context, conn *pgx.Conn) error {
	rows, err := conn.Query(ctx, `
		SELECT CASE WHEN c.conname IS NULL THEN 'DROP INDEX ' || i.indexrelid::regclass
		            ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', i.indrelid::regclass, c.conname) END
		  FROM pg_index i
		  LEFT JOIN pg_constraint c ON c.conindid = i.indexrelid AND c.conrelid = i.indrelid
		 WHERE i.indrelid = to_regclass($1) AND i.indisunique
		   AND `+onKey, k.table, k.sorted())
	if err != nil {
		return err
	}
	drops, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, drop := range append(drops, fmt.Sprintf(`CREATE INDEX ON %s %s`, k.table, k.list())) {
		if _, err := conn.Exec(ctx, drop); err != nil {
			return fmt.Errorf("%s: %w", drop, err)
		}
	}
	return nil
}
