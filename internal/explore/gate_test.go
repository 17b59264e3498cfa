package explore_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/scenarios"
)

// inconclusive explores a handler that cannot be put into an order, and wants to be told so.
func inconclusive(t *testing.T, want string, s scenarios.Strategy) {
	t.Helper()
	r := run(t, options(s).Patient(300*time.Millisecond))
	if r.Complete || !strings.Contains(r.Inconclusive, want) {
		t.Errorf("complete %v, inconclusive %q; want %q", r.Complete, r.Inconclusive, want)
	}
}

func TestWhatCannotBeOrderedIsInconclusive(t *testing.T) {
	t.Run("two connections", func(t *testing.T) {
		inconclusive(t, "second connection", strategy("two", func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			tx, err := db.BeginTx(ctx, pgx.TxOptions{})
			if err != nil {
				return scenarios.Response{}, err
			}
			defer tx.Rollback(ctx)
			r, _, err := look(db.QueryRow(ctx, lookSQL, req.Key))
			return r, err
		}))
	})
	t.Run("two goroutines", func(t *testing.T) {
		inconclusive(t, "two goroutines", strategy("two", func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			var wg sync.WaitGroup
			for range 2 {
				wg.Go(func() { _, _ = db.Exec(ctx, `SELECT 1`) })
			}
			wg.Wait()
			return scenarios.Response{}, nil
		}))
	})
	t.Run("a goroutine that dies without its handler", func(t *testing.T) {
		o := options(strategy("aside", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if r, found, err := look(db.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
				return r, err
			}
			done := make(chan error, 1)
			go func() {
				_, err := acq.Capture(ctx, scenarios.Charge(req))
				done <- err
			}()
			select {
			case <-done:
				return insert(ctx, db, req)
			case <-ctx.Done():
				return scenarios.Response{}, ctx.Err()
			}
		})).Patient(200 * time.Millisecond)
		o.Sessions, o.Crashes = 1, 1
		if r := run(t, o); r.Complete || !strings.Contains(r.Inconclusive, "a goroutine of its own") {
			t.Errorf("%s, inconclusive %q", r.Coverage(), r.Inconclusive)
		}
	})
	t.Run("a session's lock through the pool", func(t *testing.T) {
		inconclusive(t, "through the pool", strategy("pooled-lock", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			if _, err := db.Exec(ctx, `SELECT pg_advisory_lock($1)`, req.OrderID); err != nil {
				return scenarios.Response{}, err
			}
			defer db.Exec(ctx, `SELECT pg_advisory_unlock($1)`, req.OrderID)
			if r, found, err := look(db.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
				return r, err
			}
			return captureAndInsert(ctx, db, acq, req)
		}))
	})
	for name, record := range map[string]string{
		"the last value":      `UPDATE cobranca SET status = 'CAPTURADA' WHERE id = currval('cobranca_id_seq')`,
		"a temporary table":   `CREATE TEMP TABLE IF NOT EXISTS mine (k text)`,
		"a setting":           `SELECT set_config('app.key', 'k', false)`,
		"a setting, with SET": `SET search_path = public`,
	} {
		t.Run(name+" through the pool", func(t *testing.T) {
			inconclusive(t, "through the pool", strategy("pooled", func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
				_, err := db.Exec(ctx, record)
				return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, err
			}))
		})
	}
	t.Run("other SQL than what is seen", func(t *testing.T) {
		inconclusive(t, "rewritten", strategy("rewriter", func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
			_, err := db.Exec(ctx, `SELECT 1`, rewriter{})
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, err
		}))
	})
	t.Run("a lock and a look in one statement", func(t *testing.T) {
		o := options(strategy("at-once", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			tag, err := db.Exec(ctx, `/* claim */ INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
				SELECT $1::text, 1, 1, 'PROCESSANDO' WHERE pg_try_advisory_xact_lock(hashtext($1::text)) AND NOT EXISTS (SELECT FROM cobranca WHERE idempotency_key = $1::text)`, req.Key)
			if err != nil || tag.RowsAffected() == 0 {
				return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, err
			}
			_, err = acq.Capture(ctx, scenarios.Charge(req))
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, err
		}))
		if r := run(t, o); !strings.Contains(r.Inconclusive, "in one statement") {
			t.Errorf("%s, inconclusive %q", r.Coverage(), r.Inconclusive)
		}
	})
	t.Run("chance", func(t *testing.T) {
		var n atomic.Int64
		s, inner := scenarios.InsertFirst, scenarios.InsertFirst.New
		s.New = func(env scenarios.Env) scenarios.Handler {
			handle := inner(env)
			return func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
				if n.Add(1)%3 == 0 {
					if _, err := db.Exec(ctx, `/* extra */ SELECT 1`); err != nil {
						return scenarios.Response{}, err
					}
				}
				return handle(ctx, db, acq, req)
			}
		}
		inconclusive(t, "diverged", s)
	})
	t.Run("a loop", func(t *testing.T) {
		inconclusive(t, "does not end", strategy("spin", func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			for {
				if r, found, err := look(db.QueryRow(ctx, lookSQL, req.Key)); found || err != nil {
					return r, err
				}
			}
		}))
	})
	t.Run("a wait that ends by itself", func(t *testing.T) {
		inconclusive(t, "a timeout?", strategy("timeout", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			return inTx(ctx, db, "", 1, func(tx pgx.Tx) (scenarios.Response, error) {
				if _, err := tx.Exec(ctx, `SET LOCAL lock_timeout = '30ms'`); err != nil {
					return scenarios.Response{}, err
				}
				if _, err := tx.Exec(ctx, forUpdate, req.OrderID); err != nil {
					return scenarios.Response{}, err
				}
				_, err := tx.Exec(ctx, forUpdate, req.OrderID)
				time.Sleep(100 * time.Millisecond) // longer than the other's patience, and nothing is given back yet
				return scenarios.Response{}, err
			})
		}))
	})
	t.Run("a wait that is not PostgreSQL's", func(t *testing.T) {
		inconclusive(t, "waits outside PostgreSQL", scenarios.Strategy{Name: "sleepy", New: func(scenarios.Env) scenarios.Handler {
			meet := make(chan struct{}) // each waits for the other between two steps
			return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
				_, err := db.Exec(ctx, `SELECT 1`)
				select {
				case meet <- struct{}{}:
				case <-meet:
				case <-ctx.Done():
				}
				return scenarios.Response{}, err
			}
		}})
	})
}

// rewriter has SQL of its own.
type rewriter struct{}

func (rewriter) RewriteQuery(context.Context, *pgx.Conn, string, []any) (string, []any, error) {
	return `DELETE FROM cobranca`, nil, nil
}

// What cannot be in a transaction block is not the strategy's fault: without one it is explored.
func TestWhatCannotBeSplit(t *testing.T) {
	s := strategy("procedure", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		if _, err := db.Exec(ctx, `/* claim */ CALL claim($1)`, req.OrderID); err != nil {
			return scenarios.Response{}, err
		}
		return captureAndInsert(ctx, db, acq, req)
	})
	const ddl = `CREATE PROCEDURE claim(k bigint) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO pedido (id) VALUES (-k); COMMIT; END $$;`
	for noSplit, inconclusive := range map[bool]string{false: "cannot be in a transaction block", true: ""} {
		o := options(s)
		o.Sessions, o.AttemptsPerSession, o.NoSplit = 1, 1, noSplit
		r, err := explore.Run(t.Context(), placeWith(t, s, ddl), o)
		if err != nil || (r.Inconclusive == "") != (inconclusive == "") || !strings.Contains(r.Inconclusive, inconclusive) || len(r.Violations) > 0 {
			t.Errorf("no split %v: inconclusive %q, %v, %v", noSplit, r.Inconclusive, r.Violations, err)
		}
	}
}

// A transaction that text has ended is committed again for nothing; one that a COMMIT as text cannot end is none.
func TestACommitThatTextHasMade(t *testing.T) {
	o := options(strategy("twice", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		tx, err := db.BeginTx(ctx, pgx.TxOptions{})
		if err != nil {
			return scenarios.Response{}, err
		}
		r, err := captureAndInsert(ctx, tx, acq, req)
		if err != nil {
			return r, err
		}
		if _, err := tx.Exec(ctx, `COMMIT`); err != nil {
			return r, err
		}
		return r, tx.Commit(ctx)
	}))
	o.Sessions = 1
	if got := found(t, run(t, o)); len(got) > 0 {
		t.Errorf("found %v", got)
	}
}

// What PostgreSQL refuses outside a transaction, and pgx on a connection whose rows are not read, is refused here.
func TestWhatIsRefusedInAServiceIsRefusedHere(t *testing.T) {
	for name, c := range map[string]struct {
		f    func(ctx context.Context, db scenarios.DB) error
		want string // of the error; "" for none
	}{
		"LOCK TABLE by itself": {func(ctx context.Context, db scenarios.DB) error {
			_, err := db.Exec(ctx, `LOCK TABLE cobranca`)
			return err
		}, "25P01"},
		"rows that are left open in a transaction": {func(ctx context.Context, db scenarios.DB) error {
			return pgx.BeginFunc(ctx, beginner{db}, func(tx pgx.Tx) error {
				rows, err := tx.Query(ctx, lookSQL, "k")
				if err != nil {
					return err
				}
				defer rows.Close()
				_, err = tx.Exec(ctx, `SELECT 1`)
				return err
			})
		}, "conn busy"},
		"rows that are closed": {func(ctx context.Context, db scenarios.DB) error {
			return pgx.BeginFunc(ctx, beginner{db}, func(tx pgx.Tx) error {
				rows, err := tx.Query(ctx, lookSQL, "k")
				if err != nil {
					return err
				}
				rows.Close()
				_, err = tx.Exec(ctx, `SELECT 1`)
				return err
			})
		}, ""},
	} {
		var got error
		o := options(strategy("refused", func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
			got = c.f(ctx, db)
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, nil
		}))
		o.Sessions = 1
		run(t, o)
		if (got == nil) != (c.want == "") || got != nil && !strings.Contains(got.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, got, c.want)
		}
	}
}

// beginner is a database for pgx.BeginFunc.
type beginner struct{ scenarios.DB }

func (b beginner) Begin(ctx context.Context) (pgx.Tx, error) { return b.BeginTx(ctx, pgx.TxOptions{}) }

func TestALockThatIsNeverGivenBackIsNotHeld(t *testing.T) {
	o := options(strategy("leak", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		err := db.Session(ctx, func(db scenarios.DB) error {
			_, err := db.Exec(ctx, `SELECT pg_advisory_lock($1)`, req.OrderID)
			return err
		})
		if err != nil {
			return scenarios.Response{}, err
		}
		return captureAndInsert(ctx, db, acq, req)
	}))
	r := run(t, o)
	if !strings.Contains(r.Inconclusive, "for ever") || r.Violating != r.Schedules {
		t.Errorf("%d of %d schedules, inconclusive %q", r.Violating, r.Schedules, r.Inconclusive)
	}
}

// The rows that the explorer hands out behave as pgx's own do: the same handler runs on both and writes down what it sees.
func TestRowsAreAsPgxHasThem(t *testing.T) {
	var seen []string
	note := func(what string, err error) {
		text := what
		if err != nil {
			text += ": " + err.Error()
		}
		seen = append(seen, text)
	}
	handler := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
		var n int
		var s *string
		note("no row", db.QueryRow(ctx, `SELECT 1 WHERE false`).Scan(&n))
		note("NULL into int", db.QueryRow(ctx, `SELECT NULL::int`).Scan(&n))
		note("NULL into pointer", db.QueryRow(ctx, `SELECT NULL::text`).Scan(&s))
		note("wrong type", db.QueryRow(ctx, `SELECT 'x'`).Scan(&n))
		note("syntax", db.QueryRow(ctx, `SELEC`).Scan(&n))
		note("too few", db.QueryRow(ctx, `SELECT 1, 2`).Scan(&n))
		rows, err := db.Query(ctx, `SELECT i, i::text, NULL FROM generate_series(1, 3) i`)
		note("query", err)
		for rows.Next() {
			v, err := rows.Values()
			note(strings.TrimSpace(strings.Join(strings.Fields(strings.ReplaceAll(format(v), "<nil>", "nil")), " ")), err)
		}
		note(rows.CommandTag().String(), rows.Err())
		list, err := pgx.CollectRows(must(db.Query(ctx, `SELECT i FROM generate_series(1, $1) i`, 3)), pgx.RowTo[int])
		note(format(list), err)
		rows, err = db.Query(ctx, `SELECT 1/0`)
		note("query that fails", err)
		rows.Close()
		note("late", rows.Err())
		_, err = pgx.CollectRows(must(db.Query(ctx, `SELECT 1/(2-i) FROM generate_series(1, 3) i`)), pgx.RowTo[int])
		note("in the middle", err)
		tag, err := db.Exec(ctx, `UPDATE cobranca SET status = status WHERE false`)
		note(tag.String(), err)
		tx, err := db.BeginTx(ctx, pgx.TxOptions{})
		note("begin", err)
		_, err = tx.Exec(ctx, `SELECT 1/0`)
		note("fails", err)
		note("commit after failure", tx.Commit(ctx))
		note("rollback after commit", tx.Rollback(ctx))
		_, err = tx.Exec(ctx, `SELECT 1`)
		note("exec after commit", err)
		return scenarios.Response{Answer: scenarios.InProgress}, nil
	}

	s := strategy("rows", handler)
	o := options(s)
	o.Sessions, o.MaxSchedules = 1, 1
	run(t, o)
	gated := seen
	seen = nil

	conn, err := pgx.ConnectConfig(t.Context(), place(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := handler(t.Context(), plain{conn}, nil, scenarios.Request{}); err != nil {
		t.Fatal(err)
	}
	for i := range seen {
		if i >= len(gated) || gated[i] != seen[i] {
			t.Fatalf("pgx: %s\ngated: %s", seen[i], strings.Join(gated, "\n"))
		}
	}
}

type plain struct{ *pgx.Conn }

func (p plain) Session(context.Context, func(scenarios.DB) error) error { return errors.ErrUnsupported }

func must(rows pgx.Rows, _ error) pgx.Rows { return rows }

func format(v any) string { return fmt.Sprint(v) }
