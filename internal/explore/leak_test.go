package explore_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/scenarios"
)

// What a schedule has set, the next must not find, also where PostgreSQL takes the value back with the transaction: a setting of the
// application's own is an empty text from then on, and NULL on a connection that is new.
func TestASettingIsNotHandedOn(t *testing.T) {
	const functions = `
		CREATE TABLE x (k bigint);
		CREATE FUNCTION sets_mine() RETURNS text LANGUAGE sql AS $$ SELECT set_config('app.mine', 'mine', false) $$;
		CREATE FUNCTION calls() RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN sets_mine(); END $$;
		CREATE FUNCTION with_its_own() RETURNS int LANGUAGE sql SET app.mine = 'mine' AS $$ SELECT 1 $$;
		CREATE FUNCTION on_insert() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN SET LOCAL app.mine = 'mine'; RETURN NEW; END $$;
		CREATE TRIGGER on_insert BEFORE INSERT ON x FOR EACH ROW EXECUTE FUNCTION on_insert();`
	sends := func(sql string, args ...any) func(context.Context, pgx.Tx) error {
		return func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, sql, args...)
			return err
		}
	}
	beside := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
		_, err := db.Exec(ctx, `SELECT 1`) // so that there are several schedules
		return scenarios.Response{}, err
	}
	for name, c := range map[string]struct {
		ddl  string
		sets func(context.Context, pgx.Tx) error
	}{
		"SET":                        {"", sends(`SET app.mine = 'mine'`)},
		"SET LOCAL":                  {"", sends(`SET LOCAL app.mine = 'mine'`)},
		"SET LOCAL, quoted":          {"", sends(`SET LOCAL "app"."mine" = 'mine'`)},
		"set_config":                 {"", sends(`SELECT set_config('app.mine', 'mine', false)`)},
		"set_config, local":          {"", sends(`SELECT set_config('app.mine', 'mine', true)`)},
		"set_config, in an argument": {"", sends(`SELECT set_config($1, 'mine', true)`, "app.mine")},
		"two, one of them known":     {"", sends(`SELECT set_config('lock_timeout', '0', true), set_config('app.mine', 'mine', true)`)},
		"a function":                 {functions, sends(`SELECT sets_mine()`)},
		"a function that calls it":   {functions, sends(`SELECT calls()`)},
		"a function's own setting":   {functions, sends(`SELECT with_its_own()`)},
		"a view":                     {`CREATE VIEW v AS SELECT set_config('app.mine', 'mine', true)`, sends(`SELECT * FROM v`)},
		"a default":                  {`CREATE TABLE y (k int, s text DEFAULT set_config('app.mine', 'mine', true))`, sends(`INSERT INTO y (k) VALUES (1)`)},
		"a check":                    {`CREATE TABLE y (k int CHECK (set_config('app.mine', 'mine', true) IS NOT NULL))`, sends(`INSERT INTO y (k) VALUES (1)`)},
		"a trigger":                  {functions, sends(`INSERT INTO x VALUES (1)`)},
		"after a comment": {"CREATE TABLE x (k bigint); CREATE FUNCTION f() RETURNS int LANGUAGE plpgsql AS $$ BEGIN -- before the update is\n SET LOCAL app.mine = 'mine'; RETURN 1; END $$;",
			sends(`SELECT f()`)},
		"a trigger at a COPY": {functions, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"x"}, []string{"k"}, pgx.CopyFromRows([][]any{{1}}))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			sets := func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, _ scenarios.Request) (scenarios.Response, error) {
				tx, err := db.BeginTx(ctx, pgx.TxOptions{})
				if err != nil {
					return scenarios.Response{}, err
				}
				defer func() { _ = tx.Rollback(ctx) }()
				var found string
				if err := tx.QueryRow(ctx, `/* look */ SELECT coalesce(current_setting('app.mine', true), 'not there')`).Scan(&found); err != nil {
					return scenarios.Response{}, err
				}
				if err := c.sets(ctx, tx); err != nil {
					return scenarios.Response{}, err
				}
				if err := tx.Commit(ctx); err != nil {
					return scenarios.Response{}, err
				}
				return says("%s", found)
			}
			sees(t, c.ddl, 1, sets, beside)
		})
	}
}
