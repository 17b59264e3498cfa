// Package storage measures what a key's lifetime costs in bytes: a table of finished charges, loaded with keys as clients make
// them, weighed, written to one by one, and rid of the keys that have expired.
//
// What is at stake is one sentence, one key, one row, which a table keeps however large it is, and which partitioning by day gives up
// so that a day of keys can be dropped. Each layout is one run, and is judged by that.
package storage

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/meter"
	"idemlab/internal/server"
	"idemlab/results"
)

// Overhead is how many connections a run holds: the schema's lock, one that works, and the one that makes the tables.
const Overhead = 3

// isolation is that of insert-first's claim, whatever the server's default is.
const isolation = string(pgx.ReadCommitted)

// Options say what to measure. All fields but those marked optional must be set.
type Options struct {
	Layout   Layout
	Keys     int
	Rate     float64 // keys a second, for what is reckoned from the bytes
	Lifetime time.Duration
	Batch    int // rows of one DELETE
	Sample   int // keys written one by one
	Seed     uint64
	Today    time.Time
	DDL      string // of schema.sql

	// Done counts keys that are loaded, for whoever shows progress. Optional.
	Done *atomic.Int64
}

// job is one layout on its way.
type job struct {
	Options
	calendar calendar
	conn     *pgx.Conn
	explains bool // the server's EXPLAIN knows WAL
	rows     int  // that the table has
}

func (j *job) done(keys int) {
	j.rows += keys
	if j.Options.Done != nil {
		j.Options.Done.Add(int64(keys))
	}
}

// Run measures one layout, in a schema of its own. The result is worth reading on an error too: it holds what was measured until
// then. Where the context ended its Status is Aborted, and there is no error.
func Run(ctx context.Context, srv *server.Server, o Options) (run results.Run, err error) {
	run = describe(srv, o)
	started := time.Now()
	run.StartedAt = started.UTC()
	defer func() { run.DurationMS = results.MS(time.Since(started)) }()
	err = o.measure(ctx, srv, run.Storage)
	judge(&run, o.Layout)
	run, failed := check.Ended(ctx, run, err)
	switch {
	case run.Status == results.Aborted:
		return run, leftBehind(err)
	case failed != nil:
		return run, fmt.Errorf("%s: %w", o.Layout.Name, failed)
	}
	return run, nil
}

// measure makes the schema and drops it, whatever happens in between.
func (o Options) measure(ctx context.Context, srv *server.Server, doc *results.Storage) (err error) {
	schema, err := srv.NewSchema(ctx, o.DDL)
	if err != nil {
		return err
	}
	defer func() {
		if dropErr := schema.Drop(ctx); dropErr != nil {
			err = errors.Join(err, notDropped{dropErr})
		}
	}()
	cfg := schema.Config()
	cfg.RuntimeParams["default_transaction_isolation"] = isolation
	conn, err := meter.Connect(ctx, cfg)
	if err != nil {
		return err
	}
	defer server.CloseConn(ctx, conn)
	j := &job{Options: o, calendar: newCalendar(o.Today, o.Lifetime), conn: conn, explains: srv.Info().VersionNum >= 130000}
	return j.all(ctx, doc)
}

// all goes through the steps, and fills the document as it comes to them.
func (j *job) all(ctx context.Context, doc *results.Storage) error {
	refusal, err := j.Layout.shape(ctx, j.conn, j.calendar)
	if err != nil {
		return err
	}
	started := time.Now()
	err = j.load(ctx)
	doc.KeysLoaded, doc.LoadMS = j.rows, results.MS(time.Since(started))
	if err != nil {
		return err
	}
	s, err := measure(ctx, j.conn)
	if err != nil {
		return err
	}
	doc.Size = s.document(j.rows)
	doc.Projection = j.project(*doc.Size, nil)

	if doc.SameKey, err = j.sameKey(ctx); err != nil {
		return err
	}
	doc.SameKey.Refusal = refusal
	j.rows += doc.SameKey.RowsNextDay - 1

	if doc.WAL, err = j.wal(ctx); err != nil {
		return err
	}
	j.rows += doc.WAL.Keys
	doc.Projection = j.project(*doc.Size, doc.WAL)
	doc.Purge, err = j.purge(ctx)
	return err
}

// notDropped is a schema that stayed, which is an error also after Ctrl-C.
type notDropped struct{ error }

func leftBehind(err error) error {
	var n notDropped
	if errors.As(err, &n) {
		return n.error
	}
	return nil
}

// project reckons what the bytes of a key come to.
func (o Options) project(s results.StorageSize, w *results.StorageWAL) *results.StorageProjected {
	in := func(t time.Duration, bytes float64) float64 { return math.Round(o.Rate * t.Seconds() * bytes) }
	p := &results.StorageProjected{BytesPerDay: in(aDay, s.BytesPerKey), SteadyBytes: in(o.Lifetime, s.BytesPerKey)}
	p.SteadyBytesBeforePurge = p.SteadyBytes + p.BytesPerDay
	if w == nil {
		return p
	}
	most := in(aDay, w.Claim.WALBytes+w.Record.WALBytes)
	p.WALBytesPerDayAllImages = &most
	if w.Claim.WALBytesNoImage != nil && w.Record.WALBytesNoImage != nil {
		least := in(aDay, *w.Claim.WALBytesNoImage+*w.Record.WALBytesNoImage)
		p.WALBytesPerDay = &least
	}
	return p
}
