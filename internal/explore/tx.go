package explore

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/schedule"
)

// tx is a transaction, or a savepoint in one, whose calls are steps.
type tx struct {
	a      *attempt
	inner  pgx.Tx
	nested bool
	over   bool
}

var _ pgx.Tx = (*tx)(nil)

func (t *tx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	r := t.call(ctx, sql, args, executing(sql, args))
	return r.tag, r.err
}

func (t *tx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return t.a.reads(t.call(ctx, sql, args, querying(sql, args)).asRows())
}

func (t *tx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return row{t.call(ctx, sql, args, querying(sql, args))}
}

func (t *tx) call(ctx context.Context, sql string, args []any, run runner) *result {
	if err := t.enter(); err != nil {
		return failed(err)
	}
	if err := t.a.reading(); err != nil {
		return failed(err)
	}
	return t.a.statement(ctx, sql, args, run)
}

// enter begins a call, if the transaction is still open.
func (t *tx) enter() error {
	if err := t.a.enter(); err != nil {
		return err
	}
	if t.over {
		t.a.leave()
		return pgx.ErrTxClosed
	}
	return nil
}

// Begin sets a savepoint, which is no step, as BEGIN is none.
func (t *tx) Begin(ctx context.Context) (pgx.Tx, error) {
	if err := t.enter(); err != nil {
		return nil, err
	}
	defer t.a.leave()
	inner, err := t.inner.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &tx{a: t.a, inner: inner, nested: true}, nil
}

func (t *tx) Commit(ctx context.Context) error {
	if err := t.enter(); err != nil {
		return err
	}
	if err := t.a.reading(); err != nil {
		return err
	}
	t.over = true
	if t.nested {
		defer t.a.leave()
		return t.inner.Commit(ctx) // releasing a savepoint shows nothing to others
	}
	return t.a.commit(ctx, op{name: "commit", verb: "COMMIT"}, t.inner.Commit)
}

// Rollback is a step where it gives something back. After an error it does not: PostgreSQL gave it back with the error.
func (t *tx) Rollback(ctx context.Context) error {
	a := t.a
	if err := t.enter(); err != nil {
		return err
	}
	t.over = true
	txn := a.s.txn
	if txn == nil || txn.idle() || a.s.conn.PgConn().TxStatus() == 'E' {
		defer a.leave()
		return t.rollback(ctx)
	}
	o := op{name: "rollback", verb: "ROLLBACK"}
	if _, err := a.await(o); err != nil {
		return err
	}
	foot := txn.rollback()
	err := t.rollback(ctx)
	a.note(o, inWords(err), foot)
	return err
}

func (t *tx) rollback(ctx context.Context) error {
	if !t.nested {
		t.a.s.txn = nil
	}
	return t.inner.Rollback(ctx)
}

// Conn is not for strategies (scenarios.DB).
func (t *tx) Conn() *pgx.Conn { return nil }

// CopyFrom is one step, of which nothing is known but that it happened.
func (t *tx) CopyFrom(ctx context.Context, into pgx.Identifier, columns []string, from pgx.CopyFromSource) (int64, error) {
	a := t.a
	o := op{name: "copy", verb: "COPY", limits: a.limits(ctx, "")}
	if _, err := a.stand(o); err != nil {
		return 0, err
	}
	foot := schedule.Footprint(everything())
	if a.s.txn != nil {
		a.s.txn.everything, a.s.txn.wrote = true, true
	}
	if a.s.w.e.catalogue.sets { // a trigger may
		a.s.loose, a.s.stale = true, true
	}
	a.begin(foot)
	n, err := t.inner.CopyFrom(ctx, into, columns, from)
	a.note(o, inWords(err), foot)
	return n, err
}

// SendBatch runs the batch's statements one after another, each as a step.
func (t *tx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	_ = t.a.refuse("sends a batch, which the explorer cannot stop between its statements")
	if err := t.a.lives(); err != nil {
		return failedBatch{err}
	}
	return t.inner.SendBatch(ctx, b)
}

// LargeObjects go past the explorer, each call a statement of its own.
func (t *tx) LargeObjects() pgx.LargeObjects {
	_ = t.a.refuse("uses large objects, whose calls the explorer cannot stop between")
	return t.inner.LargeObjects()
}

func (t *tx) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if err := t.a.lives(); err != nil {
		return nil, err
	}
	t.a.s.prepared[name] = sql
	return t.inner.Prepare(ctx, name, sql)
}

// failedBatch is a batch that was not sent.
type failedBatch struct{ err error }

func (b failedBatch) Exec() (pgconn.CommandTag, error) { return pgconn.CommandTag{}, b.err }
func (b failedBatch) Query() (pgx.Rows, error)         { return failed(b.err).asRows() }
func (b failedBatch) QueryRow() pgx.Row                { return row{failed(b.err)} }
func (b failedBatch) Close() error                     { return b.err }
func (b failedBatch) Tx() pgx.Tx                       { return nil }
