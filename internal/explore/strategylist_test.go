package explore_test

import (
	"context"

	"github.com/jackc/pgx/v5"

	"idemlab/scenarios"
)

// cleaner deletes claims that look abandoned.
var cleaner = scenarios.Job{Name: "cleaner", New: func(scenarios.Env, scenarios.Strategy) scenarios.Handler {
	return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		_, err := db.Exec(ctx, `/* clean */ DELETE FROM cobranca WHERE status = 'PROCESSANDO' AND idempotency_key = $1`, req.Key)
		return scenarios.Response{}, err
	}
}}

func catalogue() []scenarios.Strategy {
	rc, rr, ser := pgx.ReadCommitted, pgx.RepeatableRead, pgx.Serializable
	return []scenarios.Strategy{
		unconstrained(strategy("tx-rc", lockThenCheck(rc, ""))),
		unconstrained(strategy("tx-rr", lockThenCheck(rr, ""))),
		unconstrained(strategy("tx-ser", lockThenCheck(ser, ""))),
		unconstrained(strategy("for-update-rc", lockThenCheck(rc, forUpdate))),
		unconstrained(strategy("for-update-rr", lockThenCheck(rr, forUpdate))),
		unconstrained(strategy("for-update-ser", lockThenCheck(ser, forUpdate))),
		unconstrained(strategy("advisory-rc", lockThenCheck(rc, advisory))),
		unconstrained(strategy("advisory-rr", lockThenCheck(rr, advisory))),
		unconstrained(strategy("insert-not-exists", insertNotExists)),
		strategy("get-or-create", getOrCreate),
		strategy("effect-first", effectFirst),
		unconstrained(strategy("optimistic", optimistic)),
		unconstrained(strategy("claim-then-capture-rr", claimThenCapture(rr, 2))),
		unconstrained(strategy("claim-then-capture-ser", claimThenCapture(ser, 2))),
		strategy("savepoint", savepoint),
		underMutex,
		remembers,
		twoLocks(),
	}
}

// articles are the strategies that the articles tell of, and that everything costly is tried with.
func articles() []scenarios.Strategy {
	return []scenarios.Strategy{scenarios.CheckThenAct, scenarios.InsertFirst, scenarios.InsertFirstCatch, scenarios.InsertFirstOpenTx}
}

func named(name string) scenarios.Strategy {
	for _, s := range append(catalogue(), scenarios.All()...) {
		if s.Name == name {
			return s
		}
	}
	panic("no strategy is called " + name)
}
