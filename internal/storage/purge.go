package storage

import (
	"context"
	"fmt"
	"time"

	"idemlab/internal/meter"
	"idemlab/results"
)

// purge gets rid of the expired day's keys, as the layout allows, and looks whether one of them is taken for a new key afterwards.
func (j *job) purge(ctx context.Context) (*results.StoragePurge, error) {
	before, err := measure(ctx, j.conn)
	if err != nil {
		return nil, err
	}
	p := &results.StoragePurge{BytesBefore: before.total()}
	if j.Layout.PartitionedBy == "" {
		err = j.deleteAndVacuum(ctx, p)
	} else {
		err = j.dropDay(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	left := j.rows - p.ExpiredKeys
	p.BytesUnused = max(0, p.BytesAtEnd()-p.BytesBefore*int64(left)/int64(j.rows))
	p.ExpiredKeyAccepted, err = j.claim(ctx, j.Layout.keyOf(j.Seed, 0, j.calendar.at(0, j.Keys)), 0, j.calendar.end())
	return p, err
}

// deleteAndVacuum walks up the primary key, which rises with time, so that no index on the date is needed. Each batch is a
// transaction of its own: short locks, and after an interruption only the batch is lost.
func (j *job) deleteAndVacuum(ctx context.Context, p *results.StoragePurge) error {
	p.Method = "delete"
	err := j.timed(ctx, &p.DurationMS, &p.WALBytes, func() error {
		for above := int64(0); ; {
			var looked, deleted int
			var last *int64
			err := j.conn.QueryRow(ctx, `/* purge */
				WITH lote AS (
				     SELECT id, criada_em FROM cobranca WHERE id > $1 ORDER BY id LIMIT $2),
				apagada AS (
				     DELETE FROM cobranca USING lote
				      WHERE cobranca.id = lote.id AND lote.criada_em < $3
				     RETURNING cobranca.id)
				SELECT (SELECT count(*) FROM lote), (SELECT count(*) FROM apagada), (SELECT max(id) FROM lote)`,
				above, j.Batch, j.calendar.cut()).Scan(&looked, &deleted, &last)
			if err != nil {
				return fmt.Errorf("delete expired keys: %w", err)
			}
			p.Statements++
			p.ExpiredKeys += deleted
			if deleted < looked || last == nil { // the first that has not expired
				return nil
			}
			above = *last
		}
	})
	if err != nil {
		return err
	}
	s, err := measure(ctx, j.conn)
	if err != nil {
		return err
	}
	p.BytesAfter = s.total()
	p.Vacuum = &results.StorageVacuum{}
	err = j.timed(ctx, &p.Vacuum.DurationMS, &p.Vacuum.WALBytes, func() error { return run(ctx, j.conn, `VACUUM cobranca`) })
	if err != nil {
		return err
	}
	s, err = measure(ctx, j.conn)
	p.Vacuum.BytesAfter = s.total()
	return err
}

// dropDay drops the expired day's partition.
func (j *job) dropDay(ctx context.Context, p *results.StoragePurge) error {
	p.Method, p.Statements = "drop", 1
	day := dayTable(0)
	if err := j.conn.QueryRow(ctx, `SELECT count(*) FROM `+day).Scan(&p.ExpiredKeys); err != nil {
		return fmt.Errorf("count expired keys: %w", err)
	}
	err := j.timed(ctx, &p.DurationMS, &p.WALBytes, func() error { return run(ctx, j.conn, `DROP TABLE `+day) })
	if err != nil {
		return err
	}
	s, err := measure(ctx, j.conn)
	p.BytesAfter = s.total()
	return err
}

// timed does something, and says how long it took and what it wrote to the WAL.
func (j *job) timed(ctx context.Context, ms *float64, wal *int64, do func() error) error {
	before, err := meter.WAL(ctx, j.conn)
	if err != nil {
		return err
	}
	started := time.Now()
	if err := do(); err != nil {
		return err
	}
	*ms = results.MS(time.Since(started))
	after, err := meter.WAL(ctx, j.conn)
	*wal = after - before
	return err
}
