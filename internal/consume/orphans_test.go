package consume

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/recovery"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

// An orphan is recorded as the strategy would have done it, or taken away where the acquirer never heard of it; what is young, or
// answered, or another order's, is left alone.
func TestReconcile(t *testing.T) {
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	cfg := servertest.Schema(t, string(ddl)).Config()
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	acq := acquirer.New(acquirer.Options{}).For("it")
	for _, key := range []string{"captured", "young", "other"} {
		if _, err := acq.Capture(t.Context(), scenarios.Charge{Key: key}); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		key   string
		order int64
		state string
		age   time.Duration
	}{
		{"captured", 1, "PROCESSANDO", time.Hour}, {"unheard", 1, "PROCESSANDO", time.Hour}, {"young", 1, "PROCESSANDO", 0},
		{"answered", 1, "RECUSADA", time.Hour}, {"other", 2, "PROCESSANDO", time.Hour},
	} {
		_, err := conn.Exec(t.Context(), `INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, criada_em)
			VALUES ($1, $2, 1, $3, clock_timestamp() - $4::interval)`, row.key, row.order, row.state, row.age)
		if err != nil {
			t.Fatal(err)
		}
	}
	pool, err := orphanPool(t.Context(), cfg.Copy())
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if did, err := reconcile(t.Context(), pool, mute{acq}, recovery.Options{Lease: time.Minute, OnlyOrder: 1}); err != nil || did != (reconciled{}) {
		t.Errorf("nobody to ask: %+v, %v", did, err)
	}
	for _, want := range []reconciled{{Recorded: 1, Released: 1}, {}} { // a second time there is nothing left
		if did, err := reconcile(t.Context(), pool, acq, recovery.Options{Lease: time.Minute, OnlyOrder: 1}); err != nil || did != want {
			t.Errorf("%+v, %v; want %+v", did, err, want)
		}
	}
	rows, err := conn.Query(t.Context(), `SELECT idempotency_key || ' ' || status || ' ' || coalesce(resposta_http, 0) FROM cobranca ORDER BY id`)
	if err != nil {
		t.Fatal(err)
	}
	left, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if want := []string{"captured CAPTURADA 201", "young PROCESSANDO 0", "answered RECUSADA 0", "other PROCESSANDO 0"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("%q, %v; want %q", left, err, want)
	}

	// A strategy that has keys of its own at the acquirer is asked about by those: an orphan that was charged is not taken away.
	_, err = conn.Exec(t.Context(), `INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, criada_em)
		VALUES ('own', 4, 1, 'PROCESSANDO', clock_timestamp() - interval '1 hour')`)
	if err == nil {
		_, err = acq.Capture(t.Context(), scenarios.Charge{Key: "sent as own"})
	}
	if err != nil {
		t.Fatal(err)
	}
	own := recovery.Options{Lease: time.Minute, OnlyOrder: 4, AcquirerKey: func(_ int64, key string) string { return "sent as " + key }}
	if did, err := reconcile(t.Context(), pool, acq, own); err != nil || did != (reconciled{Recorded: 1}) {
		t.Errorf("%+v, %v", did, err)
	}

	// Its answer is the strategy's own, to the byte: the first capture of each acquirer has the same number.
	inst, err := instance.Open(t.Context(), instance.Config{Conn: cfg, Pool: 1, Isolation: pgx.ReadCommitted, Strategy: scenarios.InsertFirst})
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	known := inst.Handle(t.Context(), acq, scenarios.Request{Key: "captured", OrderID: 1, AmountCents: 1})
	fresh := inst.Handle(t.Context(), acquirer.New(acquirer.Options{}).For("fresh"), scenarios.Request{Key: "fresh", OrderID: 3, AmountCents: 1})
	if known.Answer != scenarios.Replayed || fresh.Answer != scenarios.Charged || known.HTTP != fresh.HTTP || known.Body != fresh.Body {
		t.Errorf("recorded %s %d %s, and the strategy itself %s %d %s", known.Answer, known.HTTP, known.Body, fresh.Answer, fresh.HTTP, fresh.Body)
	}
}

// mute is an acquirer that cannot be asked.
type mute struct{ scenarios.Acquirer }

func (mute) Find(context.Context, string) (scenarios.Receipt, bool, error) {
	return scenarios.Receipt{}, false, scenarios.ErrCannotAsk
}
