package repeats

import (
	"context"
	"fmt"
	"time"

	"idemlab/internal/meter"
)

// counters is what PostgreSQL, and the system it runs on, count.
type counters struct {
	wal, xids       int64
	heap, indexes   int64 // bytes
	sequenceNumbers int64
	statistics      *statistics    // nil before PostgreSQL 15
	cpu             *time.Duration // of the backend; nil where nobody tells
}

// statistics are those that a backend reports when it comes to it.
type statistics struct{ versions, dead int64 }

// counters reads them all, of everything in the schema: some strategies write to the order too.
func (w *work) counters(ctx context.Context, pid uint32) (c counters, err error) {
	if w.flush != nil {
		if err := w.flush(ctx, w.inst); err != nil {
			return c, err
		}
		c.statistics = &statistics{}
		err = w.aside.QueryRow(ctx, `/* statistics */
			SELECT sum(n_tup_ins + n_tup_upd)::bigint, sum(n_dead_tup)::bigint
			  FROM pg_stat_user_tables
			 WHERE schemaname = current_schema()`).Scan(&c.statistics.versions, &c.statistics.dead)
		if err != nil {
			return c, fmt.Errorf("read the statistics: %w", err)
		}
	}
	err = w.aside.QueryRow(ctx, `/* sizes */
		SELECT coalesce(sum(pg_relation_size(oid)) FILTER (WHERE relkind = 'r'), 0)::bigint,
		       coalesce(sum(pg_relation_size(oid)) FILTER (WHERE relkind = 'i'), 0)::bigint,
		       (SELECT coalesce(sum(last_value), 0)::bigint FROM pg_sequences WHERE schemaname = current_schema())
		  FROM pg_class
		 WHERE relnamespace = current_schema()::regnamespace`).Scan(&c.heap, &c.indexes, &c.sequenceNumbers)
	if err != nil {
		return c, fmt.Errorf("read the sizes: %w", err)
	}
	c.cpu = processorTime(pid, w.aside.Config())
	if c.xids, err = meter.XIDs(ctx, w.aside); err != nil {
		return c, err
	}
	c.wal, err = meter.WAL(ctx, w.aside)
	return c, err
}

// minus is what was counted since.
func (c counters) minus(before counters) counters {
	d := counters{
		wal: c.wal - before.wal, xids: c.xids - before.xids, heap: c.heap - before.heap, indexes: c.indexes - before.indexes,
		sequenceNumbers: c.sequenceNumbers - before.sequenceNumbers,
	}
	if c.statistics != nil && before.statistics != nil {
		d.statistics = &statistics{c.statistics.versions - before.statistics.versions, c.statistics.dead - before.statistics.dead}
	}
	if c.cpu != nil && before.cpu != nil {
		cpu := *c.cpu - *before.cpu
		d.cpu = &cpu
	}
	return d
}
