package tables

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

func articleDDL(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func without(t *testing.T, ddl string) string {
	t.Helper()
	cut := strings.Replace(ddl, "DEFAULT now(),", "DEFAULT now()", 1)
	cut = strings.Replace(cut, "CONSTRAINT uq_cobranca_idempotency_key UNIQUE (idempotency_key)", "", 1)
	if cut == ddl {
		t.Fatal("schema.sql has changed")
	}
	return cut
}

const insertTwice = `
	INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status)
	VALUES ('k', 1, 2, 'PROCESSANDO'), ('k', 1, 2, 'PROCESSANDO'), ('warm-up', -1, 2, 'CAPTURADA')`

func TestConstraintIsThereExceptForWhoDoesWithoutIt(t *testing.T) {
	srv := servertest.Server(t)
	for _, s := range []scenarios.Strategy{scenarios.CheckThenAct, scenarios.InsertFirst, scenarios.InsertFirstCatch} {
		t.Run(s.Name, func(t *testing.T) {
			schema, err := Create(t.Context(), srv, articleDDL(t), s)
			if err != nil {
				t.Fatal(err)
			}
			defer schema.Drop(t.Context())
			conn, err := pgx.ConnectConfig(t.Context(), schema.Config())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(t.Context())
			_, err = conn.Exec(t.Context(), insertTwice)
			if doesWithout := len(s.Without) > 0; doesWithout != (err == nil) {
				t.Fatalf("the same key twice: %v", err)
			}
			rows, err := Rows(t.Context(), conn, scenarios.ChargeOnce, 0, 1)
			if want := 2 * len(s.Without); err != nil || len(rows) != want {
				t.Errorf("%d rows, want %d: those of a warm-up are no attempt's (%v)", len(rows), want, err)
			}
		})
	}
}

func TestMissingConstraintIsNamedBeforeTheRun(t *testing.T) {
	srv := servertest.Server(t)
	before := schemas(t)
	_, err := Create(t.Context(), srv, without(t, articleDDL(t)), scenarios.InsertFirst)
	if !errors.Is(err, ErrMissingConstraint) || !strings.Contains(err.Error(), scenarios.KeyConstraint) {
		t.Errorf("%v", err)
	}
	if _, err := Create(t.Context(), srv, "CREATE TABLE cobranca (", scenarios.InsertFirst); err == nil {
		t.Error("took a schema that does not parse")
	}
	if after := schemas(t); after != before {
		t.Errorf("%d schemas before, %d after", before, after)
	}
}

// Whatever ON CONFLICT (idempotency_key) can infer will do, under any name, and nothing less.
func TestAnyWholeUniqueIndexWillDo(t *testing.T) {
	srv := servertest.Server(t)
	bare := without(t, articleDDL(t))
	for index, want := range map[string]bool{
		`CREATE UNIQUE INDEX idx_idem ON cobranca (idempotency_key)`:                   true,
		`CREATE UNIQUE INDEX ON cobranca (idempotency_key) INCLUDE (status)`:           true,
		`CREATE INDEX ON cobranca (idempotency_key)`:                                   false,
		`CREATE UNIQUE INDEX ON cobranca (pedido_id)`:                                  false,
		`CREATE UNIQUE INDEX ON cobranca (idempotency_key, pedido_id)`:                 false,
		`CREATE UNIQUE INDEX ON cobranca (idempotency_key) WHERE status = 'CAPTURADA'`: false,
		`CREATE UNIQUE INDEX ON cobranca (lower(idempotency_key))`:                     false,
		`ALTER TABLE cobranca ADD CONSTRAINT u UNIQUE (idempotency_key) DEFERRABLE`:    false,
		`ALTER TABLE cobranca ADD CONSTRAINT u UNIQUE (idempotency_key)`:               true,
	} {
		schema, err := Create(t.Context(), srv, bare+";\n"+index, scenarios.InsertFirst)
		if (err == nil) != want {
			t.Errorf("%s: %v", index, err)
		}
		if schema != nil {
			if err := schema.Drop(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

func schemas(t *testing.T) (n int) {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), servertest.Server(t).Config())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'idemlab%'`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
