package explore_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/scenarios"
)

// lookAndTry locks the order and looks the key up in one statement, which ends in how the lock is asked for.
func lookAndTry(sql string) scenarios.Strategy {
	return unconstrained(strategy("look-and-try", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		return inTx(ctx, db, "", 1, func(tx pgx.Tx) (scenarios.Response, error) {
			var known bool
			switch err := tx.QueryRow(ctx, sql, req.Key, req.OrderID).Scan(&known); {
			case errors.Is(err, pgx.ErrNoRows), known:
				return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, nil
			case err != nil:
				return scenarios.Response{}, err
			}
			return captureAndInsert(ctx, tx, acq, req)
		})
	}))
}

// claimed has the claim made by a function of the database's.
var claimed = unconstrained(strategy("claimed-by-function", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
	var mine bool
	if err := db.QueryRow(ctx, `/* claim */ SELECT claim($1, $2)`, req.Key, req.OrderID).Scan(&mine); err != nil || !mine {
		return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, err
	}
	if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
		return scenarios.Response{}, err
	}
	return record(ctx, db, req)
}))

const claimFunction = `CREATE FUNCTION claim(k text, o bigint) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN
	IF EXISTS (SELECT FROM cobranca WHERE idempotency_key = k) THEN RETURN false; END IF;
	LOCK
	INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status) VALUES (k, o, 1, 'PROCESSANDO'); RETURN true; END $$;`

// Between a look and the try for a lock that stand in one statement somebody else may come and go. So nothing of it is held, also where
// no schedule shows that.
func TestATryForALockBesideALookIsInconclusive(t *testing.T) {
	const look = `/* look */ SELECT c.id IS NOT NULL FROM ordem o LEFT JOIN cobranca c ON c.idempotency_key = $1 WHERE o.id = $2 FOR UPDATE OF o `
	for name, c := range map[string]struct {
		s    scenarios.Strategy
		ddl  string
		want string
	}{
		"SKIP LOCKED": {lookAndTry(look + `SKIP LOCKED`), "", "looks at another"},
		"NOWAIT":      {lookAndTry(look + `NOWAIT`), "", "looks at another"},
		"through a view": {lookAndTry(`/* look */ SELECT false FROM open_orders o WHERE $1::text <> '' AND o.id = $2 FOR UPDATE SKIP LOCKED`),
			`CREATE VIEW open_orders AS SELECT * FROM ordem WHERE NOT EXISTS (SELECT FROM cobranca WHERE pedido_id = ordem.id);`, "may try for a lock"},
		"in a function": {claimed, strings.Replace(claimFunction, "LOCK",
			`IF NOT pg_try_advisory_xact_lock(hashtextextended(k, 0)) THEN RETURN false; END IF;`, 1), "may run claim, which tries"},
		"in a function of SQL": {claimed, `CREATE FUNCTION free(k text) RETURNS boolean LANGUAGE sql BEGIN ATOMIC SELECT pg_try_advisory_xact_lock(hashtextextended(k, 0)); END;` +
			strings.Replace(claimFunction, "LOCK", `IF NOT free(k) THEN RETURN false; END IF;`, 1), "may run free, which tries"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := explore.Run(t.Context(), placeWith(t, c.s, c.ddl), options(c.s))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(r.Inconclusive, c.want) {
				t.Errorf("%s, inconclusive %q, want %q", r.Coverage(), r.Inconclusive, c.want)
			}
		})
	}
}

// Rows of one table that are tried for are looked at again when they are had, and a function that waits for its lock is seen to wait.
func TestWhatTriesForRowsAloneIsHeld(t *testing.T) {
	queue := strategy("queue", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		if _, err := db.Exec(ctx, `/* claim */ INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
			VALUES ($1, $2, $3, 'PROCESSANDO') ON CONFLICT DO NOTHING`, req.Key, req.OrderID, req.AmountCents); err != nil {
			return scenarios.Response{}, err
		}
		tag, err := db.Exec(ctx, `/* take */ UPDATE cobranca SET status = 'TOMADA' WHERE id =
			(SELECT id FROM cobranca WHERE idempotency_key = $1 AND status = 'PROCESSANDO' FOR UPDATE SKIP LOCKED)`, req.Key)
		if err != nil || tag.RowsAffected() == 0 {
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, err
		}
		if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
			return scenarios.Response{}, err
		}
		return record(ctx, db, req)
	})
	if got := found(t, run(t, options(queue))); len(got) > 0 {
		t.Errorf("queue: found %v", got)
	}
	waits := strings.Replace(claimFunction, "LOCK", `PERFORM pg_advisory_xact_lock(hashtextextended(k, 0));`, 1)
	r, err := explore.Run(t.Context(), placeWith(t, claimed, waits), options(claimed))
	if err != nil {
		t.Fatal(err)
	}
	if got := found(t, r); len(got) == 0 || got[0] != scenarios.DoubleCharge { // it looks before it has the lock
		t.Errorf("a function that waits: found %v", got)
	}
}

// How far others' transactions are is told by functions that PostgreSQL calls stable.
func TestReducedAgreesWithFullOnSnapshots(t *testing.T) {
	crossCheck(t, options(unconstrained(strategy("horizon", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		return inTx(ctx, db, "", 1, func(tx pgx.Tx) (scenarios.Response, error) {
			if _, err := tx.Exec(ctx, `/* claim */ INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
				VALUES ($1, $2, $3, 'PROCESSANDO')`, req.Key, req.OrderID, req.AmountCents); err != nil {
				return scenarios.Response{}, err
			}
			var older bool
			if err := tx.QueryRow(ctx, `/* horizon */ SELECT pg_snapshot_xmin(pg_current_snapshot()) < pg_current_xact_id_if_assigned()`).Scan(&older); err != nil || older {
				return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, err
			}
			if _, err := acq.Capture(ctx, scenarios.Charge(req)); err != nil {
				return scenarios.Response{}, err
			}
			return record(ctx, tx, req)
		})
	}))))
}

// A guard in the process's memory has no turns of its own.
func TestWhoAnswersFromMemoryIsInconclusive(t *testing.T) {
	s := unconstrained(scenarios.Strategy{Name: "in-flight", New: func(env scenarios.Env) scenarios.Handler {
		h, inFlight := scenarios.CheckThenAct.New(env), sync.Map{}
		return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if _, busy := inFlight.LoadOrStore(req.Key, true); busy {
				return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, nil
			}
			defer inFlight.Delete(req.Key)
			return h(ctx, db, acq, req)
		}
	}})
	if r := run(t, options(s)); !strings.Contains(r.Inconclusive, "Env.Lock") {
		t.Errorf("%s, inconclusive %q", r.Coverage(), r.Inconclusive)
	}
	invalid := strategy("invalid", func(context.Context, scenarios.DB, scenarios.Acquirer, scenarios.Request) (scenarios.Response, error) {
		return scenarios.Response{Answer: scenarios.Mismatched, HTTP: 422}, nil
	})
	if r := run(t, options(invalid)); !r.Complete || r.Inconclusive != "" {
		t.Errorf("%s, inconclusive %q", r.Coverage(), r.Inconclusive)
	}
}
