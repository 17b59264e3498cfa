// Package purge deletes the rows of keys that have had their time: article 1, section 3, "Decida por quanto tempo a chave vale".
//
// It works beside the traffic: in batches, so that no transaction grows old and no row is locked for long; past rows that somebody holds;
// and never touches a claim that is not finished, however old. What is PROCESSANDO is a reconciler's business (package recovery): its
// worker may live, and deleting its row says that it may be charged again.
package purge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// DB is what the purger needs of the database: a connection, a pool, or a strategy's view of either.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
}

// Options say what has had its time.
type Options struct {
	Lifetime  time.Duration // of a key, by the server's clock, from when it was claimed
	Batch     int           // rows deleted by one statement, and so by one transaction; 0: 1000
	FromOrder int64         // rows of lesser orders are left alone
	// Careless deletes unfinished claims, too. It is wrong, and here to be shown.
	Careless bool
}

// Report is what was done.
type Report struct {
	Deleted int
	Batches int // statements that deleted something
}

// Purge deletes batch after batch until there is nothing more to delete. An error is the database's, or the end of ctx: what was deleted
// until then stays so.
func Purge(ctx context.Context, db DB, o Options) (Report, error) {
	var r Report
	if o.Lifetime < 0 || o.Batch < 0 {
		return r, errors.New("purge: lifetime and batch cannot be negative")
	}
	if o.Batch == 0 {
		o.Batch = 1000
	}
	sql := finished
	if o.Careless {
		sql = everything
	}
	for {
		tag, err := db.Exec(ctx, sql, o.Lifetime.Seconds(), o.FromOrder, o.Batch)
		if err != nil {
			return r, fmt.Errorf("purge: %w", err)
		}
		n := int(tag.RowsAffected())
		r.Deleted += n
		if n > 0 {
			r.Batches++
		}
		if n < o.Batch {
			return r, nil
		}
	}
}

const finished = `/* purge */
	DELETE FROM cobranca
	 WHERE id IN (SELECT id
	                FROM cobranca
	               WHERE status <> 'PROCESSANDO'
	                 AND criada_em < clock_timestamp() - make_interval(secs => $1)
	                 AND pedido_id >= $2
	               ORDER BY id
	               LIMIT $3
	                 FOR UPDATE SKIP LOCKED)`

// everything lacks one line.
const everything = `/* purge */
	DELETE FROM cobranca
	 WHERE id IN (SELECT id
	                FROM cobranca
	               WHERE criada_em < clock_timestamp() - make_interval(secs => $1)
	                 AND pedido_id >= $2
	               ORDER BY id
	               LIMIT $3
	                 FOR UPDATE SKIP LOCKED)`
