package explore

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/internal/schedule"
	"idemlab/scenarios"
)

// db is the strategy's database: one connection, each call a step.
type db struct {
	a      *attempt
	pinned bool // inside Session, where statements meant for the connection's own transaction are in order
}

var _ scenarios.DB = db{}

func (d db) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	r := d.call(ctx, sql, args, executing(sql, args))
	return r.tag, r.err
}

func (d db) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	rows, err := d.call(ctx, sql, args, querying(sql, args)).asRows()
	if d.pinned {
		return d.a.reads(rows, err)
	}
	return rows, err
}

func (d db) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return row{d.call(ctx, sql, args, querying(sql, args))}
}

func (d db) call(ctx context.Context, sql string, args []any, run runner) *result {
	if err := d.a.enter(); err != nil {
		return failed(err)
	}
	if !d.pinned && d.a.s.txn != nil {
		d.a.leave()
		return failed(d.a.refuse("uses a second connection while it holds a transaction, and the explorer has one for each session"))
	}
	if d.pinned {
		if err := d.a.reading(); err != nil {
			return failed(err)
		}
	}
	if !d.pinned {
		what := ""
		switch info := d.a.s.w.e.statement(sql); {
		case info.sessionLock:
			what = "takes or gives back a session's advisory lock"
		case info.keeps:
			what = "uses what a session keeps (its settings, number, last values, temporary tables)"
		}
		if what != "" {
			d.a.leave()
			return failed(d.a.refuse(what + " through the pool, where the next call may have another connection; db.Session keeps one"))
		}
	}
	return d.a.statement(ctx, sql, args, run)
}

func (d db) Session(ctx context.Context, f func(scenarios.DB) error) error {
	return f(db{a: d.a, pinned: true})
}

// BeginTx is no step: BEGIN sees nothing and locks nothing, so that its place among other sessions' steps cannot matter.
func (d db) BeginTx(ctx context.Context, opts pgx.TxOptions) (pgx.Tx, error) {
	a := d.a
	if err := a.enter(); err != nil {
		return nil, err
	}
	defer a.leave()
	if a.s.txn != nil && !d.pinned {
		return nil, a.refuse("begins a second transaction while it holds one, and the explorer has one connection for each session")
	}
	inner, err := a.s.conn.BeginTx(ctx, opts)
	if err != nil {
		return nil, err
	}
	a.s.txn = a.s.begin()
	if opts.IsoLevel != "" {
		a.s.txn.iso = opts.IsoLevel
	}
	if own := opts.BeginQuery + " " + opts.CommitQuery; own != " " {
		a.s.txn.everything, a.s.stale = true, true // some text of the strategy's own
		a.sets(own, false)
	}
	return &tx{a: a, inner: inner}, nil
}

// rewrites says that pgx is to make other SQL of the text, beyond numbering the names in it.
func rewrites(args []any) bool {
	return slices.ContainsFunc(args, func(arg any) bool {
		switch arg.(type) {
		case pgx.NamedArgs, pgx.StrictNamedArgs:
			return false
		case pgx.QueryRewriter:
			return true
		}
		return false
	})
}

// statement is one step of a call that was entered: it waits for its turn and runs. A write outside a transaction becomes two.
func (a *attempt) statement(ctx context.Context, sql string, args []any, run runner) *result {
	s := a.s
	if rewrites(args) {
		a.leave()
		return failed(a.refuse("has its SQL rewritten on the way, so that what is sent is not what is looked at"))
	}
	if text, ok := s.prepared[sql]; ok { // the name of a statement
		sql = text
	}
	info := s.w.e.statement(sql)
	said := spelt(sql, args)
	o := op{name: info.name, verb: info.verb, limits: a.limits(ctx, said), tries: info.tries}
	if _, err := a.await(o); err != nil {
		return failed(err)
	}
	if info.lasting {
		s.loose, s.stale = true, true
	}
	s.stale = s.stale || info.ofSession || info.leaves
	a.sets(said, info.lasting)
	if s.conn.PgConn().TxStatus() != 'I' {
		return a.inside(ctx, o, info, run)
	}
	t := s.begin()
	if info.plain() || info.control || info.needsBlock || s.w.e.o.NoSplit {
		foot := t.statement(info)
		a.begin(foot)
		r := run(ctx, s.conn)
		a.note(o, r.words(), foot.And(t.commit()))
		a.begun(info)
		return r
	}
	return a.split(ctx, o, info, run, t)
}

// inside runs a statement in an open transaction. An error there gives all of its locks back at once.
func (a *attempt) inside(ctx context.Context, o op, info statement, run runner) *result {
	s := a.s
	if s.txn == nil {
		s.txn = &txn{everything: true} // begun by SQL text
	}
	if s.conn.PgConn().TxStatus() == 'E' {
		r := run(ctx, s.conn)
		a.note(o, r.words(), a.afterFailure(info))
		a.ended()
		return r
	}
	foot := s.txn.statement(info)
	a.begin(foot)
	r := run(ctx, s.conn)
	s.txn.ran(info, r)
	if r.err != nil {
		foot = foot.And(s.txn.rollback())
	}
	a.note(o, r.words(), foot)
	a.ended()
	return r
}

// afterFailure: until its ROLLBACK a failed transaction refuses everything, and touches nothing.
func (a *attempt) afterFailure(info statement) schedule.Footprint {
	if info.control {
		return everything()
	}
	return nil
}

// begun and ended keep track of transactions that are begun and ended by SQL text.
func (a *attempt) begun(info statement) {
	if info.control && a.s.conn.PgConn().TxStatus() != 'I' {
		a.s.txn = &txn{everything: true}
	}
}

func (a *attempt) ended() {
	if a.s.conn.PgConn().TxStatus() == 'I' {
		a.s.txn = nil
	}
}

// split runs a write as BEGIN, statement, COMMIT, and stands still before the COMMIT: in between, others do not see it and
// wait for it, as they may when PostgreSQL does both in one. Where nothing was written there is nothing in between.
func (a *attempt) split(ctx context.Context, o op, info statement, run runner, t *txn) *result {
	conn := a.s.conn
	if _, err := conn.Exec(ctx, "BEGIN"); err != nil {
		a.note(o, inWords(err), nil)
		return failed(err)
	}
	foot := t.statement(info)
	a.begin(foot)
	r := run(ctx, conn)
	if r.err != nil {
		a.whole(r)
		_, _ = conn.Exec(ctx, "ROLLBACK") // the statement's error is the news
		a.note(o, r.words(), foot.And(t.rollback()))
		return r
	}
	if info.wroteNothing(r) {
		_, err := conn.Exec(ctx, "COMMIT")
		t.writes = nil // the table as such was touched by the statement; there is nothing to publish
		a.note(o, r.words(), foot.And(t.commit()))
		return r.unless(err)
	}
	t.ran(info, r)
	a.s.txn = t
	a.note(o, r.words(), foot)
	if err := a.enter(); err != nil {
		return r.unless(err)
	}
	err := a.commit(ctx, op{name: "commit", verb: "COMMIT", half: true}, func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "COMMIT")
		return err
	})
	return r.unless(err)
}

// whole notes a statement that PostgreSQL takes only by itself, as a CALL of a procedure that commits: what it is refused with is the
// explorer's doing, not the strategy's. 2D000 is a COMMIT inside, 25001 a command that cannot run in a transaction block.
func (a *attempt) whole(r *result) {
	if words := r.words(); words == "ERROR 2D000" || words == "ERROR 25001" {
		_ = a.refuse("runs a statement that cannot be in a transaction block, which the explorer puts around it; search with --no-split")
	}
}

// commit stands still in a call that was entered, and then commits the session's transaction.
func (a *attempt) commit(ctx context.Context, o op, run func(context.Context) error) error {
	o.limits = a.limits(ctx, "")
	if _, err := a.await(o); err != nil {
		return err
	}
	t := a.s.txn
	if t != nil && t.everything && a.s.conn.PgConn().TxStatus() == 'T' { // it may have changed its own level
		if err := a.s.conn.QueryRow(ctx, `SHOW transaction_isolation`).Scan(&t.iso); err != nil {
			a.leave()
			return a.refuse(err.Error())
		}
	}
	split, err := a.s.w.e.splitsCommits(ctx, t)
	if err != nil {
		a.leave()
		return a.refuse(err.Error())
	}
	var foot schedule.Footprint
	switch {
	case t == nil: // a COMMIT as text has ended it before
	case a.s.conn.PgConn().TxStatus() == 'E':
		split = false // everything was given back at the error
	default:
		foot = t.commit()
	}
	a.begin(foot)
	if split {
		if err := holdCommit(ctx, a.s.conn); err != nil {
			a.leave()
			return err
		}
	}
	if a.committing.Store(split); split {
		a.s.w.e.hint() // nobody tells of a COMMIT that is held: it has to be looked for
	}
	err = run(ctx)
	a.committing.Store(false)
	a.s.txn = nil
	a.note(o, inWords(err), foot)
	return err
}
