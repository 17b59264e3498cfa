package storage

import (
	"context"
	"encoding/json"
	"fmt"

	"idemlab/internal/meter"
	"idemlab/results"
)

// recordSQL is the UPDATE of the strategy insert-first.
const recordSQL = `/* record */
		UPDATE cobranca
		   SET status         = 'CAPTURADA',
		       resposta_http  = 201,
		       resposta_corpo = $2
		 WHERE idempotency_key = $1`

// cost is one statement's: its WAL with that of its commit, and how many whole pages are in it (-1: the server does not tell).
type cost struct {
	bytes  int64
	images int
}

// writeOneByOne writes new keys as a service does, after the loaded ones: claim, commit, record, commit.
func (j *job) writeOneByOne(ctx context.Context) (claims, records []cost, err error) {
	for i := range j.Sample {
		n := j.Keys + i
		at := j.calendar.end().Add(-1) // the last moment: the partition of the newest day
		k := j.Layout.keyOf(j.Seed, n, at)
		claim, err := j.weigh(ctx, j.Layout.claimSQL(), j.Layout.claimArgs(k, n, at)...)
		if err != nil {
			return claims, records, fmt.Errorf("claim a key: %w", err)
		}
		record, err := j.weigh(ctx, recordSQL, j.Layout.argument(k), answer(n))
		if err != nil {
			return claims, records, fmt.Errorf("record an answer: %w", err)
		}
		claims, records = append(claims, claim), append(records, record)
	}
	return claims, records, nil
}

// weigh runs a statement in a transaction of its own. How many whole pages it wrote is known to EXPLAIN alone, which runs it and
// throws its rows away.
func (j *job) weigh(ctx context.Context, sql string, args ...any) (c cost, err error) {
	before, err := meter.WAL(ctx, j.conn)
	if err != nil {
		return c, err
	}
	if c.images, err = j.explain(ctx, sql, args...); err != nil {
		return c, err
	}
	after, err := meter.WAL(ctx, j.conn)
	c.bytes = after - before
	return c, err
}

func (j *job) explain(ctx context.Context, sql string, args ...any) (images int, err error) {
	if !j.explains { // EXPLAIN knows WAL from PostgreSQL 13 on
		_, err := j.conn.Exec(ctx, sql, args...)
		return -1, err
	}
	var text string
	err = j.conn.QueryRow(ctx, `EXPLAIN (ANALYZE, WAL, COSTS OFF, TIMING OFF, SUMMARY OFF, FORMAT JSON) `+sql, args...).Scan(&text)
	if err != nil {
		return 0, err
	}
	var plans []struct {
		Plan struct {
			Images *int `json:"WAL FPI"`
		}
	}
	if err := json.Unmarshal([]byte(text), &plans); err != nil {
		return 0, fmt.Errorf("read EXPLAIN's answer: %w", err)
	}
	if len(plans) != 1 || plans[0].Plan.Images == nil {
		return 0, fmt.Errorf("read EXPLAIN's answer: it does not tell of full-page images: %s", text)
	}
	return *plans[0].Plan.Images, nil
}

// statement adds up.
func statement(costs []cost) results.StorageStatement {
	var all, without, images, n int64
	for _, c := range costs {
		all += c.bytes
		if c.images == 0 {
			without += c.bytes
			n++
		}
		images += int64(c.images)
	}
	s := results.StorageStatement{WALBytes: float64(all) / float64(len(costs))}
	if n > 0 {
		mean := float64(without) / float64(n)
		s.WALBytesNoImage = &mean
	}
	if images >= 0 { // else each is -1
		mean := float64(images) / float64(len(costs))
		s.Images = &mean
	}
	return s
}

// wal weighs the statements right after a checkpoint, which is when they cost most.
func (j *job) wal(ctx context.Context) (*results.StorageWAL, error) {
	made, err := meter.Checkpoint(ctx, j.conn)
	if err != nil {
		return nil, err
	}
	claims, records, err := j.writeOneByOne(ctx)
	if err != nil {
		return nil, err
	}
	return &results.StorageWAL{Keys: len(claims), Checkpointed: made, Claim: statement(claims), Record: statement(records)}, nil
}
