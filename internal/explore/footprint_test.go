package explore_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/internal/server/servertest"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

// What a statement touches and its text does not say at once: each of these was once taken for touching nothing, and orders that
// differ for one and the same, until the full search was asked.
func TestWhatAStatementTouchesUnseen(t *testing.T) {
	const three = `
		CREATE TABLE x (k bigint); CREATE INDEX ON x (k); CREATE TABLE y (k bigint); CREATE INDEX ON y (k); CREATE TABLE z (k bigint);`
	long := "a" + strings.Repeat("b", 62) // as long as a name can be
	one := func(db querier, ctx context.Context, sql string, args ...any) int {
		n := -1
		_ = db.QueryRow(ctx, sql, args...).Scan(&n) // a refusal is told as −1
		return n
	}
	writes := func(sql ...string) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			for _, q := range sql {
				if _, err := db.Exec(ctx, q, req.OrderID); err != nil {
					return scenarios.Response{}, err
				}
			}
			return says("written")
		}
	}
	reads := func(sql string) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			return says("seen %d", one(db, ctx, sql, req.OrderID))
		}
	}
	// grows asks twice, and says whether it was told anything but what its own asking makes of it.
	grows := func(by int, sql string) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			before := one(db, ctx, sql, req.OrderID)
			return says("%v", one(db, ctx, sql, req.OrderID) != before+by)
		}
	}
	// inTx runs statements, each of which gives a number, in a transaction.
	inTx := func(iso pgx.TxIsoLevel, set string, sql ...string) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (r scenarios.Response, err error) {
			err = db.Session(ctx, func(db scenarios.DB) error {
				if iso == "" && set != "" {
					if _, err := db.Exec(ctx, set); err != nil {
						return err
					}
				}
				tx, err := db.BeginTx(ctx, pgx.TxOptions{IsoLevel: iso})
				if err != nil {
					return err
				}
				defer func() { _ = tx.Rollback(ctx) }()
				if iso != "" && set != "" {
					if _, err := tx.Exec(ctx, set); err != nil {
						return err
					}
				}
				var got []int
				for _, q := range sql {
					got = append(got, one(tx, ctx, q, req.OrderID))
				}
				if err := tx.Commit(ctx); err != nil {
					return err
				}
				r, err = says("%v", got)
				return err
			})
			return r, err
		}
	}
	const (
		readX, readY   = `/* read-x */ SELECT count(*) FROM x WHERE k = $1`, `/* read-y */ SELECT count(*) FROM y WHERE k = $1`
		writeX, writeY = `/* write-x */ INSERT INTO x (k) VALUES ($1) RETURNING 1`, `/* write-y */ INSERT INTO y (k) VALUES ($1) RETURNING 1`
		writeZ         = `/* write-z */ INSERT INTO z (k) VALUES ($1) RETURNING 1`
	)
	// prepared runs statements, each of which gives a number, by their names in a transaction.
	prepared := func(name string, sql ...string) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			tx, err := db.BeginTx(ctx, pgx.TxOptions{})
			if err != nil {
				return scenarios.Response{}, err
			}
			defer func() { _ = tx.Rollback(ctx) }()
			var got []int
			for i, q := range sql {
				called := name + strings.Repeat(" ", i) // the verb alone is what a text can be taken for
				if _, err := tx.Prepare(ctx, called, q); err != nil {
					return scenarios.Response{}, err
				}
				got = append(got, one(tx, ctx, called, req.OrderID))
			}
			if err := tx.Commit(ctx); err != nil {
				return scenarios.Response{}, err
			}
			return says("%v", got)
		}
	}
	copies := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		tx, err := db.BeginTx(ctx, pgx.TxOptions{})
		if err != nil {
			return scenarios.Response{}, err
		}
		defer func() { _ = tx.Rollback(ctx) }()
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{"u"}, []string{"k"}, pgx.CopyFromRows([][]any{{req.OrderID}})); err != nil {
			return says("refused")
		}
		if err := tx.Commit(ctx); err != nil {
			return scenarios.Response{}, err
		}
		return says("copied")
	}
	rr, ser := pgx.RepeatableRead, pgx.Serializable
	for _, c := range []struct {
		name, ddl string
		handlers  []scenarios.Handler
		outcomes  int
	}{
		{"a CTE that writes, and around it an UPDATE of no row", three, []scenarios.Handler{
			writes(`/* put */ WITH n AS (INSERT INTO x (k) VALUES ($1) RETURNING k) UPDATE z SET k = n.k FROM n WHERE z.k < 0`), reads(readX),
		}, 2},
		{"two of them that look first", three, []scenarios.Handler{
			writes(`/* put */ WITH n AS (INSERT INTO x (k) SELECT $1::bigint WHERE NOT EXISTS (SELECT FROM x WHERE k = $1) RETURNING k) UPDATE z SET k = n.k FROM n WHERE z.k < 0`),
			inTx(pgx.ReadCommitted, "", `/* put */ WITH n AS (INSERT INTO x (k) SELECT $1::bigint WHERE NOT EXISTS (SELECT FROM x WHERE k = $1) RETURNING k) SELECT count(*) FROM n`),
		}, 2},
		{"a trigger that puts the row elsewhere and returns NULL", three + `
			CREATE FUNCTION route() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO y VALUES (NEW.*); RETURN NULL; END $$;
			CREATE TRIGGER route BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION route();`,
			[]scenarios.Handler{writes(`/* put */ INSERT INTO x (k) VALUES ($1)`), reads(readY)}, 2},
		{"a trigger on the table that a cascade reaches", `
			CREATE TABLE audit (k bigint);
			CREATE TABLE parent (id bigint PRIMARY KEY);
			CREATE TABLE child (id bigint PRIMARY KEY REFERENCES parent ON DELETE CASCADE);
			CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO audit VALUES (OLD.id); RETURN OLD; END $$;
			CREATE TRIGGER note AFTER DELETE ON child FOR EACH ROW EXECUTE FUNCTION note();
			INSERT INTO parent SELECT generate_series(1, 500); INSERT INTO child SELECT generate_series(1, 500);`,
			[]scenarios.Handler{
				writes(`/* delete */ DELETE FROM parent WHERE id = (SELECT min(id) FROM parent) AND $1::bigint > 0`),
				func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
					before := one(db, ctx, `/* before */ SELECT count(*) FROM audit`)
					return says("%d more", one(db, ctx, `/* after */ SELECT count(*) FROM audit`)-before)
				},
			}, 2},
		{"a name with a dollar in it", `CREATE TABLE pay$log (k bigint);`, []scenarios.Handler{
			writes(`/* put */ INSERT INTO "pay$log" (k) VALUES ($1)`), reads(`/* read */ SELECT count(*) FROM pay$log WHERE k = $1`),
		}, 2},
		{"a name with an escape in it", `CREATE TABLE paid (k bigint);`, []scenarios.Handler{
			writes(`/* put */ INSERT INTO paid (k) VALUES ($1)`), reads(`/* read */ SELECT count(*) FROM U&"p\0061id" WHERE k = $1`),
		}, 2},
		{"a name that is too long", `CREATE TABLE ` + long + ` (k bigint);`, []scenarios.Handler{
			writes(`/* put */ INSERT INTO ` + long + ` (k) VALUES ($1)`), reads(`/* read */ SELECT count(*) FROM (VALUES ($1::bigint)) v, ` + long + `er x WHERE x.k = $1`),
		}, 2},
		{"a word before a string", three, []scenarios.Handler{
			writes(writeX), reads(`/* read */ SELECT count(*) WHERE 'a' LIKE 'k' ESCAPE'\' OR EXISTS (SELECT FROM x WHERE k = $1 AND 'y' <> 'x')`),
		}, 2},
		{"a quote in a string with escapes", three, []scenarios.Handler{
			writes(writeX), reads(`/* read */ SELECT count(*) WHERE 'a' = E'\\''\'' OR EXISTS (SELECT FROM x WHERE k = $1 AND 'y' <> 'x')`),
		}, 2},
		{"a comment's end", three, []scenarios.Handler{
			writes(writeX), reads("/* read */ SELECT count(*) -- of\rFROM x WHERE k = $1"),
		}, 2},
		{"a tag with an accent", three, []scenarios.Handler{
			writes(writeX), reads(`/* read */ SELECT count(*) WHERE $ç$'$ç$ <> '' AND EXISTS (SELECT FROM x WHERE k = $1 AND 'y' <> '')`),
		}, 2},
		{"a view of another schema, with a table's name", three + `
			CREATE SCHEMA IF NOT EXISTS explored_elsewhere; CREATE VIEW explored_elsewhere.y AS SELECT * FROM x;`, []scenarios.Handler{
			writes(writeX), reads(`/* read */ SELECT count(*) FROM explored_elsewhere.y WHERE k = $1`),
		}, 2},
		{"an operator that looks at a table", three + `
			CREATE FUNCTION there(a bigint, b bigint) RETURNS boolean STABLE LANGUAGE sql AS 'SELECT EXISTS (SELECT FROM x WHERE k = a + b)';
			CREATE OPERATOR ==> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = there);`, []scenarios.Handler{
			writes(writeX), reads(`/* read */ SELECT count(*) WHERE $1::bigint ==> 0`),
		}, 2},
		{"a domain that looks at a table", three + `
			CREATE FUNCTION there(a bigint) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN EXISTS (SELECT FROM x WHERE k = a); END';
			CREATE DOMAIN fresh AS bigint CHECK (NOT there(VALUE));`, []scenarios.Handler{
			writes(writeX), reads(`/* read */ SELECT count(*) WHERE ($1::bigint)::fresh > 0`),
		}, 2},
		{"a cast that looks at a table", three + `
			CREATE TYPE looked AS (n bigint);
			CREATE FUNCTION there(a bigint) RETURNS looked STABLE LANGUAGE sql AS 'SELECT ROW (count(*))::looked FROM x WHERE k = a';
			CREATE CAST (bigint AS looked) WITH FUNCTION there(bigint);`, []scenarios.Handler{
			writes(writeX), reads(`/* read */ SELECT (($1::bigint)::looked).n`),
		}, 2},
		{"a function that is named like a column", three + `
			CREATE TYPE asked AS (n bigint);
			CREATE FUNCTION there(a asked) RETURNS bigint STABLE LANGUAGE sql AS 'SELECT count(*) FROM x WHERE k = a.n';`, []scenarios.Handler{
			writes(writeX), reads(`/* read */ SELECT (ROW ($1)::asked).there`),
		}, 2},
		{"a sequence that is not named first", `CREATE SEQUENCE numbers; CREATE TABLE x (n bigint DEFAULT nextval('numbers'), k bigint);`, []scenarios.Handler{
			writes(writeX), grows(0, `/* last */ SELECT s.last_value + CASE WHEN s.is_called THEN 1 ELSE 0 END FROM (VALUES ($1::bigint)) v, numbers s`),
		}, 2},
		{"two tables that one sequence numbers", `CREATE SEQUENCE numbers;
			CREATE TABLE x (n bigint DEFAULT nextval('numbers'), k bigint); CREATE TABLE y (n bigint DEFAULT nextval('numbers'), k bigint);`, []scenarios.Handler{
			writes(writeX), grows(1, `/* number */ INSERT INTO y (k) VALUES ($1) RETURNING n`),
		}, 2},
		{"who has locked a row", three + `INSERT INTO x VALUES (0);`, []scenarios.Handler{
			inTx(pgx.ReadCommitted, "", `/* lock */ SELECT 1 FROM x WHERE k = 0 AND $1::bigint > 0 FOR UPDATE`),
			grows(0, `/* who */ SELECT xmax::text::bigint FROM x WHERE k = 0 AND $1::bigint > 0`),
		}, 2},
		{"SET LOCAL, which takes no snapshot", three, []scenarios.Handler{
			inTx(rr, `/* name */ SET LOCAL application_name = 'me'`, readX, readY), writes(writeX),
		}, 2},
		{"SET, which makes the next transactions others", three, []scenarios.Handler{
			inTx("", `/* level */ SET default_transaction_isolation = 'repeatable read'`, readX, readY), writes(writeX, writeY),
		}, 3},
		{"a COPY that waits", `CREATE TABLE u (k bigint PRIMARY KEY);`, []scenarios.Handler{copies, copies}, 2},
		{"a statement by its name, which is a verb", three, []scenarios.Handler{
			prepared("select", readX), prepared("insert", writeX),
		}, 2},
		{"two of them", three, []scenarios.Handler{prepared("select", readX, writeX), prepared("select", readX, writeX)}, 3},
		{"three SERIALIZABLE transactions, of which two share no table", three, []scenarios.Handler{
			inTx(ser, "", readX, writeZ), inTx(ser, "", writeX, readY), inTx(ser, "", writeY),
		}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Run("first", func(t *testing.T) { sees(t, c.ddl, c.outcomes, c.handlers...) })
			last := append(append([]scenarios.Handler{}, c.handlers[1:]...), c.handlers[0])
			t.Run("last", func(t *testing.T) { sees(t, c.ddl, c.outcomes, last...) })
		})
	}
}

// What a strategy's own Prepare makes is there when its statements are understood.
func TestWhatPrepareMakesIsKnown(t *testing.T) {
	s := strategy("prepares", func(ctx context.Context, db scenarios.DB, acq scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
		var n int
		if err := db.QueryRow(ctx, `/* look */ SELECT known($1)`, req.Key).Scan(&n); err != nil || n > 0 {
			return scenarios.Response{Answer: scenarios.InProgress, HTTP: 409}, err
		}
		return captureAndInsert(ctx, db, acq, req)
	})
	s = unconstrained(s)
	s.Prepare = func(ctx context.Context, db scenarios.DB, _ scenarios.Request) error {
		_, err := db.Exec(ctx, `CREATE OR REPLACE FUNCTION known(k text) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN (SELECT count(*) FROM cobranca WHERE idempotency_key = k); END'`)
		return err
	}
	crossCheck(t, options(s))
}

func says(format string, args ...any) (scenarios.Response, error) {
	return scenarios.Response{Answer: scenarios.InProgress, HTTP: 200, Body: fmt.Sprintf(format, args...)}, nil
}

// sees runs the handlers beside one another, in full and reduced, over tables of their own, and wants both to agree on so many outcomes.
func sees(t *testing.T, more string, outcomes int, handlers ...scenarios.Handler) {
	s := strategy("unseen", handlers[0])
	o := explore.Defaults(s)
	o.Sessions, o.AttemptsPerSession = 1, 1
	for i, h := range handlers[1:] {
		o.Others = append(o.Others, scenarios.Job{Name: fmt.Sprint("other-", i), New: func(scenarios.Env, scenarios.Strategy) scenarios.Handler { return h }})
	}
	schema, err := tables.Create(t.Context(), servertest.Server(t), ddl(t)+more, s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := schema.Drop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	var found [2]explore.Result
	for i, search := range []string{explore.Full, explore.DPOR} {
		o.Search = search
		found[i], err = explore.Run(t.Context(), schema.Config(), o)
		if err != nil || !found[i].Complete || found[i].Inconclusive != "" || found[i].Divergences > 0 {
			t.Errorf("%s: %s, %d divergences, %s, %v", search, found[i].Coverage(), found[i].Divergences, found[i].Inconclusive, err)
		}
	}
	if d := explore.Compare(found[0], found[1]); d != "" {
		t.Error(d)
	}
	if n := len(found[0].Keys()); n != outcomes {
		t.Errorf("%d outcomes, want %d: %v", n, outcomes, found[0].Keys())
	}
}
