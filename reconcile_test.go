package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/cmd"
	"idemlab/internal/acquirer"
	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
	"idemlab/results"
	"idemlab/scenarios"
)

// The reconciler on the tables of a service that was killed, which has left them behind: asked twice, it finishes what the acquirer
// knows, leaves what it does not, and takes nothing with it when it goes.
func TestReconcileTheTablesOfAService(t *testing.T) {
	srv := servertest.Server(t)
	acq := acquirer.New(acquirer.Options{})
	url, stop, err := acq.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	tables := killedService(t, srv, acq)
	reconcile := func(want int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		args = append([]string{"reconcile", "--tables", tables, "--acquirer", url, "--lease", "1ms"}, args...)
		if code := cmd.Main(schema, args, []string{"IDEMLAB_DSN=" + srv.DSN()}, nil, &out, &errs); code != want {
			t.Fatalf("%q: exit %d, want %d\n%s%s", args, code, want, out.String(), errs.String())
		}
		return out.String()
	}

	says(t, reconcile(4, "--dry-run"), "DRY RUN, nothing is written", "R$ 250.00  1h old  captured (cap-000001): a retry is told 201", "2 orphans, R$ 500.00; 0 rows written")
	var d results.Document
	if err := json.Unmarshal([]byte(reconcile(4, "--json")), &d); err != nil {
		t.Fatal(err)
	}
	p := d.Runs[0].Recovery.Passes[0]
	if p.Changed != 1 || p.Found.Cents != 50000 || len(p.Orphans) != 2 || p.Orphans[0].Fate != "captured" || p.Orphans[1].Fate != "unknown" || d.Verdict != results.Inconclusive {
		t.Errorf("%+v, %s", p, d.Verdict)
	}
	says(t, reconcile(4), "1 orphan, R$ 250.00; 0 rows written", "left: the acquirer knows nothing of it", "left: may still arrive")
	says(t, reconcile(1, "--fail-on", "recovery.left.cents>10000", "--fail-on", "recovery.left.orphans>1"),
		"gate recovery.left.cents>10000 failed: 25000 > 10000", "gate recovery.left.orphans>1 passed: 1")
	says(t, reconcile(0, "--deadline", "1ms"), "closed: a retry is told 402", "1 row written", "verdict: held, as expected")
	says(t, reconcile(0), "0 orphans, R$ 0.00; 0 rows written")
	if n := len(acq.Ledger()); n != 1 {
		t.Errorf("the acquirer was told %d times", n)
	}
}

func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("it does not say %q:\n%s", p, text)
		}
	}
}

// killedService leaves a schema that nobody holds, in which two workers died: one after its capture, one before.
func killedService(t *testing.T, srv *server.Server, acq *acquirer.Acquirer) string {
	t.Helper()
	h, err := srv.NewSchema(t.Context(), schema)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Share(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		conn, err := pgx.ConnectConfig(context.Background(), srv.Config())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), `DROP SCHEMA `+h.Name()+` CASCADE`); err != nil { // without IF EXISTS: it must have stayed
			t.Error(err)
		}
	})
	conn, err := pgx.ConnectConfig(t.Context(), h.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for i, key := range []string{"after-capture", "after-claim"} {
		if _, err := conn.Exec(t.Context(), `INSERT INTO cobranca (idempotency_key, pedido_id, valor_centavos, status, criada_em)
			VALUES ($1, $2, 25000, 'PROCESSANDO', clock_timestamp() - interval '1 hour')`, key, i+1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := acq.For("intent").Capture(t.Context(), scenarios.Charge{Key: "after-capture", OrderID: 1, AmountCents: 25000}); err != nil {
		t.Fatal(err)
	}
	h.LetGo(t.Context())
	return h.Name()
}
