package purge_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/check"
	"idemlab/internal/explore"
	"idemlab/internal/purge"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

func ddl(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func connect(t *testing.T, cfg *pgx.ConnConfig) *pgx.Conn {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

// keys are left in the table, sorted.
func keys(t *testing.T, conn *pgx.Conn) []string {
	t.Helper()
	rows, err := conn.Query(t.Context(), `SELECT idempotency_key FROM cobranca ORDER BY idempotency_key`)
	if err != nil {
		t.Fatal(err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Only what is finished, old, of those orders, and in nobody's hands: and what somebody holds is not waited for.
func TestWhatHasHadItsTime(t *testing.T) {
	for _, c := range []struct {
		name string
		o    purge.Options
		want purge.Report
		left []string
	}{
		{"finished", purge.Options{}, purge.Report{Deleted: 3, Batches: 1}, []string{"held", "processing", "warm-up", "young"}},
		{"in batches", purge.Options{Batch: 2}, purge.Report{Deleted: 3, Batches: 2}, []string{"held", "processing", "warm-up", "young"}},
		{"careless", purge.Options{Careless: true, Batch: 1}, purge.Report{Deleted: 4, Batches: 4}, []string{"held", "warm-up", "young"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			schema := servertest.Schema(t, ddl(t))
			conn, holder := connect(t, schema.Config()), connect(t, schema.Config())
			_, err := conn.Exec(t.Context(), `INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, criada_em)
				SELECT k, o, 1, s, clock_timestamp() - make_interval(hours => h) FROM (VALUES
					('warm-up', -1, 'CAPTURADA', 48), ('old-1', 1, 'CAPTURADA', 48), ('old-2', 1, 'RECUSADA', 25), ('old-3', 1, 'CAPTURADA', 48),
					('held', 1, 'CAPTURADA', 48), ('processing', 1, 'PROCESSANDO', 48), ('young', 1, 'CAPTURADA', 23)) v (k, o, s, h)`)
			if err != nil {
				t.Fatal(err)
			}
			tx, err := holder.Begin(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer tx.Rollback(t.Context())
			if _, err := tx.Exec(t.Context(), `SELECT FROM cobranca WHERE idempotency_key = 'held' FOR UPDATE`); err != nil {
				t.Fatal(err)
			}
			c.o.Lifetime = 24 * time.Hour
			got, err := purge.Purge(t.Context(), conn, c.o)
			if err != nil || got != c.want {
				t.Errorf("%+v, want %+v, %v", got, c.want, err)
			}
			if left := keys(t, conn); !slices.Equal(left, c.left) {
				t.Errorf("left %v, want %v", left, c.left)
			}
		})
	}
}

func TestOptionsThatCannotBeMeant(t *testing.T) {
	for _, o := range []purge.Options{{Lifetime: -1}, {Batch: -1}} {
		if _, err := purge.Purge(t.Context(), nil, o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// Every order of a purge and two attempts with one key. Between a refused INSERT and the SELECT that follows it, the row may go: most
// strategies then answer with an error, one that inserts and reads in one statement does not, and all charge again once the key is free.
// What holds on to the business event does none of this, not even where claims are deleted under their worker's hands.
func TestEveryOrderBesideAPurger(t *testing.T) {
	const double, failed = scenarios.DoubleCharge, scenarios.ErrorToDuplicate
	for _, c := range []struct {
		strategy scenarios.Strategy
		job      string
		verdict  results.Verdict
		shows    []scenarios.Anomaly
		not      []scenarios.Anomaly
	}{
		{scenarios.InsertFirst, "purger", results.Violated, []scenarios.Anomaly{double, failed}, nil},
		{scenarios.InsertFirst, "careless-purger", results.Violated, []scenarios.Anomaly{double, failed}, nil},
		{scenarios.InsertFirstCatch, "purger", results.Violated, []scenarios.Anomaly{double, failed}, nil},
		{scenarios.DoUpdateNoop, "purger", results.Violated, []scenarios.Anomaly{double}, []scenarios.Anomaly{failed}},
		{scenarios.BusinessEvent, "purger", results.Held, nil, []scenarios.Anomaly{double, failed, scenarios.DivergentAnswers}},
		{scenarios.BusinessEvent, "careless-purger", results.Held, nil, []scenarios.Anomaly{double, failed, scenarios.DivergentAnswers}},
	} {
		t.Run(c.strategy.Name+" beside "+c.job, func(t *testing.T) {
			o := explore.Defaults(c.strategy)
			o.Isolation = pgx.ReadCommitted
			for _, j := range purge.Jobs() {
				if j.Name == c.job {
					o.Others = append(o.Others, j)
				}
			}
			run, err := explore.Case{Scenario: c.strategy.Scenario(), Options: o, DDL: ddl(t), Expect: check.ExpectClaim}.Run(t.Context(), servertest.Server(t))
			if err != nil {
				t.Fatal(err)
			}
			if run.Verdict != c.verdict || run.ExitCode != check.ExitHeld || run.Explore.Coverage != "exhaustive" || len(o.Others) != 1 {
				t.Errorf("%s (%s), exit %d, %s", run.Verdict, run.Reason, run.ExitCode, run.Explore.Coverage)
			}
			found := map[string]bool{}
			for _, a := range run.Anomalies {
				found[a.Kind] = true
			}
			for _, a := range c.shows {
				if !found[string(a)] {
					t.Errorf("%s was not found: %v", a, found)
				}
			}
			for _, a := range c.not {
				if found[string(a)] {
					t.Errorf("%s was found", a)
				}
			}
		})
	}
}
