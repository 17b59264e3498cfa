package recovery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/scenarios"
)

// Reconcile goes over the table once. An error is the database's, or the end of ctx: what was done until then is in the report. An
// acquirer that does not answer is no error: its rows are left, for the next pass.
func Reconcile(ctx context.Context, db DB, acq Finder, o Options) (Report, error) {
	if err := o.check(); err != nil {
		return Report{}, err
	}
	p := pass{db: db, acq: acq, o: o, report: Report{DryRun: o.DryRun}}
	for last := int64(0); ; {
		found, err := p.orphans(ctx, last)
		if err != nil {
			return p.report, err
		}
		for _, orphan := range found {
			last = orphan.ID
			if err := p.settle(ctx, &orphan); err != nil {
				return p.report, err
			}
			p.report.Orphans = append(p.report.Orphans, orphan)
			if o.Each != nil {
				o.Each(orphan)
			}
		}
		if len(found) < batch {
			return p.report, nil
		}
	}
}

// batch is how many rows are read at once: a table may hold many, and the ages of those read should not be old.
const batch = 500

// enough silence in a row and the rest is not asked: each would take the whole patience.
const enough = 3

// pass is one pass under way.
type pass struct {
	db     DB
	acq    Finder
	o      Options
	report Report
	silent int // times in a row that the acquirer did not answer
}

// orphans reads the next batch behind an id.
//
// Two clocks would be one too many: the row's time is the server's, so its age is, too. And now() would be the start of a transaction,
// which may lie back further than a lease (PostgreSQL docs, "Current Date/Time").
func (p *pass) orphans(ctx context.Context, behind int64) ([]Orphan, error) {
	rows, err := p.db.Query(ctx, `/* orphans */
		SELECT id, idempotency_key, pedido_id, valor_centavos, extract(epoch FROM clock_timestamp() - criada_em)::float8
		  FROM cobranca
		 WHERE status = 'PROCESSANDO'
		   AND criada_em <= clock_timestamp() - make_interval(secs => $1)
		   AND pedido_id >= $2
		   AND ($3 = 0 OR pedido_id = $3)
		   AND id > $4
		 ORDER BY id
		 LIMIT $5`,
		p.o.Lease.Seconds(), p.o.FromOrder, p.o.OnlyOrder, behind, batch)
	if err != nil {
		return nil, fmt.Errorf("look for orphans: %w", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Orphan, error) {
		var o Orphan
		var age float64
		err := row.Scan(&o.ID, &o.Key, &o.OrderID, &o.AmountCents, &age)
		o.Age = time.Duration(age * float64(time.Second))
		return o, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for orphans: %w", err)
	}
	return found, nil
}

// settle asks about one orphan and does what follows.
func (p *pass) settle(ctx context.Context, o *Orphan) error {
	receipt, found, err := p.ask(ctx, o)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // silence, or somebody who cannot be asked: neither is "there is none"
		o.Fate, o.Reason, o.CannotAsk = Unreachable, err.Error(), errors.Is(err, scenarios.ErrCannotAsk)
		return nil
	case found:
		o.Receipt, o.Fate = receipt, Declined
		if receipt.Approved {
			o.Fate = Captured
		}
		return p.finish(ctx, o)
	case p.o.Eager:
		return p.remove(ctx, o)
	case p.o.NothingUnderWay, p.o.Deadline > 0 && o.Age >= p.o.Deadline:
		o.Fate = Closed
		return p.finish(ctx, o) // with no receipt, which is none that was approved
	}
	o.Fate, o.Reason = Unknown, "the acquirer knows nothing of it: the request may still be on its way"
	return nil
}

// ask waits for the acquirer, with nothing held in the database.
func (p *pass) ask(ctx context.Context, o *Orphan) (scenarios.Receipt, bool, error) {
	if p.silent >= enough {
		return scenarios.Receipt{}, false, fmt.Errorf("not asked: the acquirer did not answer %d times in a row", enough)
	}
	asked, cancel := context.WithTimeout(ctx, p.o.Patience)
	defer cancel()
	receipt, found, err := p.acq.Find(asked, p.o.AcquirerKey(o.ID, o.Key))
	if errors.Is(err, scenarios.ErrCannotAsk) {
		return scenarios.Receipt{}, false, err // which costs no patience
	}
	if err != nil {
		p.silent++
		return scenarios.Receipt{}, false, fmt.Errorf("the acquirer did not answer: %w", err)
	}
	p.silent = 0
	return receipt, found, nil
}

// finish stores what the worker would have stored. The condition is what makes it safe: a worker that lives, or another reconciler,
// may have been quicker, and what it wrote stands.
func (p *pass) finish(ctx context.Context, o *Orphan) error {
	status, http, body := scenarios.Recorded(o.Receipt)
	if p.o.DryRun {
		o.HTTP = http
		return nil
	}
	err := p.db.QueryRow(ctx, `/* finish */
		UPDATE cobranca
		   SET status         = $2,
		       resposta_http  = $3,
		       resposta_corpo = $4
		 WHERE id = $1
		   AND status = 'PROCESSANDO'
		RETURNING resposta_http, resposta_corpo::text`,
		o.ID, status, http, body).Scan(&o.HTTP, &o.Body)
	return p.wrote(o, err)
}

// remove is the fault that Options.Eager shows: from here on the key is free, and whoever comes next charges.
func (p *pass) remove(ctx context.Context, o *Orphan) error {
	o.Fate = Deleted
	if p.o.DryRun {
		return nil
	}
	var id int64
	err := p.db.QueryRow(ctx, `/* remove */
		DELETE FROM cobranca
		 WHERE id = $1
		   AND status = 'PROCESSANDO'
		RETURNING id`,
		o.ID).Scan(&id)
	return p.wrote(o, err)
}

// wrote sorts out how a write ended. A row that is no longer what it was belongs to somebody else, and so does one that is locked.
func (p *pass) wrote(o *Orphan, err error) error {
	var pg *pgconn.PgError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		o.Reason = "somebody else was quicker"
	case errors.As(err, &pg) && pg.Code == serializationFailure:
		o.Reason = "somebody else was at it (SQLSTATE 40001)"
	case errors.As(err, &pg) && pg.Code == lockNotAvailable:
		o.Reason = "somebody else holds the row (SQLSTATE 55P03)"
	default:
		return fmt.Errorf("finish row %d: %w", o.ID, err)
	}
	o.Fate, o.HTTP, o.Body = Changed, 0, ""
	return nil
}

// SQLSTATEs (PostgreSQL docs, appendix A).
const (
	serializationFailure = "40001"
	lockNotAvailable     = "55P03"
)
