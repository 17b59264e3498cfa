package explore_test

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"idemlab/scenarios"
)

// Strategies as people write them, to try the explorer on: none of them is known to it. They keep orders in a table of their
// own, beside cobranca.
const orders = `
	CREATE TABLE IF NOT EXISTS ordem (id bigint PRIMARY KEY, versao bigint NOT NULL DEFAULT 0);
	ALTER TABLE ordem ADD COLUMN pago boolean NOT NULL DEFAULT false;
	INSERT INTO ordem (id) VALUES (-1), (-2);`

func makeOrder(ctx context.Context, conn *pgx.Conn, req scenarios.Request) error {
	_, err := conn.Exec(ctx, `INSERT INTO ordem (id) VALUES ($1) ON CONFLICT DO NOTHING`, req.OrderID)
	return err
}

func strategy(name string, h scenarios.Handler) scenarios.Strategy {
	return scenarios.Strategy{Name: name, New: func(scenarios.Env) scenarios.Handler { return h }}
}

func unconstrained(s scenarios.Strategy) scenarios.Strategy {
	s.Without = []string{scenarios.KeyConstraint}
	return s
}

const lookSQL = `/* look */ SELECT status, resposta_http, resposta_corpo::text FROM cobranca WHERE idempotency_key = $1 ORDER BY id LIMIT 1`

// look answers from the row, if there is one.
func look(row pgx.Row) (scenarios.Response, bool, error) {
	var status string
	var http *int
	var body *string
	err := row.Scan(&status, &http, &body)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return scenarios.Response{}, false, nil
	case err != nil:
		return scenarios.Response{}, false, err
	case http == nil:
		return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, true, nil
	}
	return scenarios.Response{Answer: scenarios.Replayed, HTTP: *http, Body: *body}, true, nil
}

type querier interface {
	QueryRow(context.Context, string, ...any) pgx.Row
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
}

// insert captures and stores the answer.
func captureAndInsert(ctx context.Context, q querier, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
	if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
		return scenarios.Response{}, err
	}
	return insert(ctx, q, req)
}

func insert(ctx context.Context, q querier, req scenarios.Request) (scenarios.Response, error) {
	r := scenarios.Response{Answer: scenarios.Charged}
	err := q.QueryRow(ctx, `/* insert */ INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, resposta_http, resposta_corpo)
		VALUES ($1, $2, $3, 'CAPTURADA', 201, '{"ok": true}') RETURNING resposta_http, resposta_corpo::text`,
		req.Key, req.OrderID, req.AmountCents).Scan(&r.HTTP, &r.Body)
	return r, err
}

// record stores the answer in a row that is there.
func record(ctx context.Context, q querier, req scenarios.Request) (scenarios.Response, error) {
	r := scenarios.Response{Answer: scenarios.Charged}
	err := q.QueryRow(ctx, `/* record */ UPDATE cobranca SET status = 'CAPTURADA', resposta_http = 201, resposta_corpo = '{"ok": true}'
		WHERE idempotency_key = $1 RETURNING resposta_http, resposta_corpo::text`, req.Key).Scan(&r.HTTP, &r.Body)
	return r, err
}

// inTx runs f in a transaction, again where it fails with 40001 and tries are left.
func inTx(ctx context.Context, db scenarios.DB, iso pgx.TxIsoLevel, tries int, f func(pgx.Tx) (scenarios.Response, error)) (scenarios.Response, error) {
	for {
		r, err := once(ctx, db, iso, f)
		var pg *pgconn.PgError
		if tries--; err == nil || tries == 0 || !errors.As(err, &pg) || pg.Code != "40001" {
			return r, err
		}
	}
}

func once(ctx context.Context, db scenarios.DB, iso pgx.TxIsoLevel, f func(pgx.Tx) (scenarios.Response, error)) (scenarios.Response, error) {
	tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: iso})
	if err != nil {
		return scenarios.Response{}, err
	}
	defer tx.Rollback(ctx)
	r, err := f(tx)
	if err != nil {
		return r, err
	}
	return r, tx.Commit(ctx)
}

// lockThenCheck is a transaction that locks with the statement given, looks, captures and inserts.
func lockThenCheck(iso pgx.TxIsoLevel, lock string) scenarios.Handler {
	return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		return inTx(ctx, db, iso, 1, func(tx pgx.Tx) (scenarios.Response, error) {
			if lock != "" {
				if _, err := tx.Exec(ctx, lock, req.OrderID); err != nil {
					return scenarios.Response{}, err
				}
			}
			if r, found, err := look(tx.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
				return r, err
			}
			return captureAndInsert(ctx, tx, acq, req)
		})
	}
}

const (
	forUpdate = `/* lock */ SELECT id FROM ordem WHERE id = $1 FOR UPDATE`
	advisory  = `/* lock */ SELECT pg_advisory_xact_lock($1)`
)

func insertNotExists(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
	tag, err := db.Exec(ctx, `/* claim */ INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
		SELECT $1, $2, $3, 'PROCESSANDO' WHERE NOT EXISTS (SELECT FROM cobranca WHERE idempotency_key = $1)`,
		req.Key, req.OrderID, req.AmountCents)
	if err != nil {
		return scenarios.Response{}, err
	}
	if tag.RowsAffected() == 0 {
		r, _, err := look(db.QueryRow(ctx, lookSQL, req.Key))
		return r, err
	}
	if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
		return scenarios.Response{}, err
	}
	return record(ctx, db, req)
}

var errNoRow = errors.New("neither inserted nor found")

func getOrCreate(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
	var mine bool
	err := db.QueryRow(ctx, `/* get-or-create */ WITH ins AS (
			INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status) VALUES ($1, $2, $3, 'PROCESSANDO')
			ON CONFLICT (idempotency_key) DO NOTHING RETURNING id)
		SELECT true FROM ins UNION ALL SELECT false FROM cobranca WHERE idempotency_key = $1 LIMIT 1`,
		req.Key, req.OrderID, req.AmountCents).Scan(&mine)
	if errors.Is(err, pgx.ErrNoRows) {
		return scenarios.Response{}, errNoRow
	}
	if err != nil {
		return scenarios.Response{}, err
	}
	if !mine {
		r, _, err := look(db.QueryRow(ctx, lookSQL, req.Key))
		return r, err
	}
	if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
		return scenarios.Response{}, err
	}
	return record(ctx, db, req)
}

func effectFirst(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
	return captureAndInsert(ctx, db, acq, req)
}

// optimistic bumps the order's version in one transaction, and claims in another.
func optimistic(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
	if r, found, err := look(db.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
		return r, err
	}
	var version int
	if err := db.QueryRow(ctx, `/* version */ SELECT versao FROM ordem WHERE id = $1`, req.OrderID).Scan(&version); err != nil {
		return scenarios.Response{}, err
	}
	tag, err := db.Exec(ctx, `/* bump */ UPDATE ordem SET versao = versao + 1 WHERE id = $1 AND versao = $2`, req.OrderID, version)
	if err != nil {
		return scenarios.Response{}, err
	}
	if tag.RowsAffected() == 0 {
		return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, nil
	}
	return captureAndInsert(ctx, db, acq, req)
}

// claimThenCapture commits its claim in a transaction of that level, and only then captures.
func claimThenCapture(iso pgx.TxIsoLevel, tries int) scenarios.Handler {
	return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		mine := false
		r, err := inTx(ctx, db, iso, tries, func(tx pgx.Tx) (scenarios.Response, error) {
			mine = false
			r, found, err := look(tx.QueryRow(ctx, lookSQL, req.Key))
			if found || err != nil {
				return r, err
			}
			mine = true
			_, err = tx.Exec(ctx, `/* claim */ INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
				VALUES ($1, $2, $3, 'PROCESSANDO')`, req.Key, req.OrderID, req.AmountCents)
			return r, err
		})
		if err != nil || !mine {
			return r, err
		}
		if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
			return scenarios.Response{}, err
		}
		return record(ctx, db, req)
	}
}

// underMutex looks and acts under a lock of the process.
var underMutex = scenarios.Strategy{
	Name: "mutex", Without: []string{scenarios.KeyConstraint},
	New: func(env scenarios.Env) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			unlock, err := env.Lock(ctx, "charge")
			if err != nil {
				return scenarios.Response{}, err
			}
			defer unlock()
			if r, found, err := look(db.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
				return r, err
			}
			return captureAndInsert(ctx, db, acq, req)
		}
	},
}

// remembers keeps in the process's memory which keys it has begun to charge.
var remembers = scenarios.Strategy{
	Name: "remembers", Without: []string{scenarios.KeyConstraint},
	New: func(env scenarios.Env) scenarios.Handler {
		seen := map[string]bool{}
		first := func(ctx context.Context, key string) (bool, error) {
			unlock, err := env.Lock(ctx, "seen")
			if err != nil {
				return false, err
			}
			defer unlock()
			was := seen[key]
			seen[key] = true
			return !was, nil
		}
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			mine, err := first(ctx, req.Key)
			if err != nil {
				return scenarios.Response{}, err
			}
			if mine {
				return captureAndInsert(ctx, db, acq, req)
			}
			if r, found, err := look(db.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
				return r, err
			}
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, nil
		}
	},
}

// savepoint tries the plain INSERT under a savepoint, and reads where it is refused.
func savepoint(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
	return inTx(ctx, db, "", 1, func(tx pgx.Tx) (scenarios.Response, error) {
		err := pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error {
			_, err := sp.Exec(ctx, `/* claim */ INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
				VALUES ($1, $2, $3, 'PROCESSANDO')`, req.Key, req.OrderID, req.AmountCents)
			return err
		})
		if err != nil {
			r, found, lookErr := look(tx.QueryRow(ctx, lookSQL, req.Key))
			if lookErr == nil && !found {
				lookErr = err
			}
			return r, lookErr
		}
		if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
			return scenarios.Response{}, err
		}
		return record(ctx, tx, req)
	})
}

// twoLocks takes two rows, in an order that depends on who comes.
func twoLocks() scenarios.Strategy {
	return scenarios.Strategy{Name: "two-locks", Without: []string{scenarios.KeyConstraint}, New: func(env scenarios.Env) scenarios.Handler {
		backwards := env.Seed%2 == 0
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			ids := []int64{-1, -2}
			if backwards {
				ids = []int64{-2, -1}
			}
			return inTx(ctx, db, "", 1, func(tx pgx.Tx) (scenarios.Response, error) {
				for _, id := range ids {
					if _, err := tx.Exec(ctx, forUpdate, id); err != nil {
						return scenarios.Response{}, err
					}
				}
				if r, found, err := look(tx.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
					return r, err
				}
				return captureAndInsert(ctx, tx, acq, req)
			})
		}
	}}
}
