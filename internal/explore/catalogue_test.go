package explore_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/explore"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

// What a statement touches beyond its text is in the catalogue. Here the text says too little in each way; the reduced search
// must still agree with the full one.
func TestTheCatalogueIsReadAlong(t *testing.T) {
	const base = `CREATE TABLE cobranca (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, idempotency_key text NOT NULL,
		pedido_id bigint NOT NULL, valor_centavos bigint NOT NULL, status text NOT NULL, resposta_http int, resposta_corpo jsonb);`
	cancel := scenarios.Job{Name: "cancel", New: func(scenarios.Env, scenarios.Strategy) scenarios.Handler {
		return func(ctx context.Context, db scenarios.DB, _ scenarios.Acquirer, req scenarios.Request) (scenarios.Response, error) {
			_, err := db.Exec(ctx, `/* cancel */ DELETE FROM ordem WHERE id = $1`, req.OrderID)
			return scenarios.Response{}, err
		}
	}}
	for _, c := range []struct {
		name, ddl string
		strategy  scenarios.Strategy
		others    []scenarios.Job
	}{
		{"foreign key", orders + base + `ALTER TABLE cobranca ADD FOREIGN KEY (pedido_id) REFERENCES ordem ON DELETE CASCADE`,
			strategy("fk", effectFirst), []scenarios.Job{cancel}},
		{"trigger", orders + base + `
			CREATE FUNCTION no_second() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
				UPDATE ordem SET versao = versao + 1 WHERE id = NEW.pedido_id;
				IF EXISTS (SELECT FROM cobranca WHERE idempotency_key = NEW.idempotency_key) THEN RAISE unique_violation; END IF;
				RETURN NEW; END $$;
			CREATE TRIGGER t BEFORE INSERT ON cobranca FOR EACH ROW EXECUTE FUNCTION no_second();`,
			strategy("trigger", effectFirst), []scenarios.Job{cancel}},
		{"deferred", orders + base + `ALTER TABLE cobranca ADD UNIQUE (idempotency_key) DEFERRABLE INITIALLY DEFERRED`,
			strategy("deferred", lockThenCheck(pgx.ReadCommitted, "")), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema := servertest.Schema(t, c.ddl)
			o := options(c.strategy)
			o.Others, o.AttemptsPerSession = c.others, 1
			o.Search = explore.Full
			full, err := explore.Run(t.Context(), schema.Config(), o)
			if err != nil {
				t.Fatal(err)
			}
			o.Search = explore.DPOR
			reduced, err := explore.Run(t.Context(), schema.Config(), o)
			if err != nil {
				t.Fatal(err)
			}
			if !full.Complete || !reduced.Complete || full.Divergences+reduced.Divergences > 0 {
				t.Fatalf("full %s %s, reduced %s %s, divergences %d and %d", full.Coverage(), full.Inconclusive, reduced.Coverage(), reduced.Inconclusive, full.Divergences, reduced.Divergences)
			}
			if d := explore.Compare(full, reduced); d != "" {
				t.Error(d)
			}
			t.Logf("full %d, reduced %d, outcomes %d", full.Schedules, reduced.Schedules, len(full.Keys()))
		})
	}
}
