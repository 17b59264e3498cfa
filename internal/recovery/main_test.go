package recovery_test

import (
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/attempt"
	"idemlab/internal/server/servertest"
	"idemlab/scenarios"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// lab makes tables of the strategy's, an acquirer, and intents to be tried on them.
func lab(t *testing.T, s scenarios.Strategy, o acquirer.Options) *attempt.Lab {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	l, err := attempt.New(t.Context(), servertest.Server(t), attempt.Config{
		Strategy: s, Isolation: pgx.ReadCommitted, Acquirer: o, Seed: 1, DDL: string(ddl),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
	return l
}

// try makes a new intent, and a first attempt at it which something befalls.
func try(t *testing.T, l *attempt.Lab, b attempt.Befalls) *attempt.Intent {
	t.Helper()
	it, err := l.Intent(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	again(t, l, it, b)
	return it
}

func again(t *testing.T, l *attempt.Lab, it *attempt.Intent, b attempt.Befalls) scenarios.Attempt {
	t.Helper()
	a, err := l.Try(t.Context(), it, it.Request, b)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func land(t *testing.T, l *attempt.Lab, it *attempt.Intent) scenarios.Attempt {
	t.Helper()
	if err := l.Land(t.Context(), it); err != nil {
		t.Fatal(err)
	}
	return it.Attempts[0]
}

func captures(l *attempt.Lab, it *attempt.Intent) int {
	return l.Acquirer.Counts()[it.Request.Key].Captures
}

// connect is one more connection to the lab's tables.
func connect(t *testing.T, l *attempt.Lab, level pgx.TxIsoLevel) *pgx.Conn {
	t.Helper()
	cfg := l.Config()
	cfg.RuntimeParams["default_transaction_isolation"] = string(level)
	conn, err := pgx.ConnectConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}
