package service

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"idemlab/internal/server"
	"idemlab/scenarios"
)

// Attempts may hold every connection of the pool, each waiting for another: whether PostgreSQL answers can still be asked.
func TestHealthDoesNotQueueForThePool(t *testing.T) {
	r := start(t, scenarios.InsertFirstOpenTx, func(c *Config) {
		c.Instance.Pool, c.About = 1, map[string]string{"strategy": "insert-first-open-tx"}
	})
	gate := r.acq.Hold()
	replies := r.crowd(t, 2, request(key(1)))
	<-gate.Arrivals() // in a transaction, with the only connection
	resp, said := r.send(t, http.MethodGet, "/healthz", nil, "")
	if resp.StatusCode != http.StatusOK || !strings.Contains(said, `"status": "ok"`) || !strings.Contains(said, "insert-first-open-tx") {
		t.Errorf("%d %s", resp.StatusCode, said)
	}
	gate.Open()
	<-replies
	<-replies
}

// A database that is gone is no answer of the strategy's: 503, with the advice to come back.
func TestWithoutPostgreSQL(t *testing.T) {
	srv, err := server.Open(t.Context(), server.Options{Fast: true, Connections: 20, Environ: []string{"PATH=" + os.Getenv("PATH")}, Say: func(string, ...any) {}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = srv.Stop(context.Background()) })
	r := startOn(t, srv, scenarios.InsertFirst, nil)
	if reply := r.charge(t, request(key(1))); reply.Status != http.StatusCreated {
		t.Fatalf("%+v", reply)
	}
	if err := srv.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if reply := r.charge(t, request(key(2))); reply.Status != http.StatusServiceUnavailable || reply.Kind != "unavailable" || reply.RetryAfter <= 0 {
		t.Errorf("%+v", reply)
	}
	if resp, said := r.send(t, http.MethodGet, "/healthz", nil, ""); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(said, "does not answer") {
		t.Errorf("%d %s", resp.StatusCode, said)
	}
}

func TestNeighboursOfTheKey(t *testing.T) {
	for key, want := range map[string]string{
		"8e03978e-40d5-43dd-bc93-6894a57f9324": "",
		"01ARZ3NDEKTSV4RRFFQ69G5FAV":           "", // a ULID
		"9f86d081884c7d659a2feaa0c55ad015":     "",
		"12345678-1234-4234-8234-123456789012": "", // a UUID may be all digits

		"":                     easyKey,
		"1":                    easyKey,
		"pedido-123":           easyKey,
		"order-000000000123":   easyKey,
		"2025-10-15T10:00:00Z": easyKey,
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa": easyKey,
		"98765432101": easyKey, // eleven digits that are no CPF

		"ana.silva@example.com.br":                 emailKey,
		"pay:ana@example.com:8e03978e40d543ddbc93": emailKey,
		"52998224725":    cpfKey,
		"529.982.247-25": cpfKey,
		"cpf:529.982.247-25/8e03978e40d543ddbc93": cpfKey,
		"4111111111111111":                        cardKey,
		"4111 1111 1111 1111":                     cardKey,
		"4111-1111-1111-1111":                     cardKey,
		"card:378282246310005":                    cardKey,
		"4111111111111112":                        easyKey, // its last digit is wrong
	} {
		if got := neighbour(key); got != want {
			t.Errorf("%q: %q, want %q", key, got, want)
		}
	}
}

// Each kind is said once, however many keys there are of it, and the key itself never.
func TestWarningsAreSaidOnceAndNameNoKey(t *testing.T) {
	said := make(chan string, 100)
	r := start(t, scenarios.InsertFirst, func(c *Config) { c.Warn = func(text string) { said <- text } })
	for _, k := range []string{"ana@example.com", "bob@example.com", "1", "2", key(1)} {
		if reply := r.charge(t, request(k)); reply.Status != http.StatusCreated {
			t.Errorf("%s: %+v", k, reply)
		}
	}
	close(said)
	var lines []string
	for line := range said {
		lines = append(lines, line)
	}
	if !slices.Equal(lines, []string{emailKey, easyKey}) {
		t.Errorf("%q", lines)
	}
}

func TestTheLog(t *testing.T) {
	var out bytes.Buffer
	r := start(t, scenarios.CatchInTx, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&out, nil)) })
	r.charge(t, request(key(1)))
	r.charge(t, request(key(1)))
	r.charge(t, request("ana@example.com"))
	r.send(t, http.MethodGet, "/", nil, "")
	r.client.Close()
	r.front.Close() // a line is written when its client has been answered: wait for all of them
	for _, want := range [][]string{
		{"method=POST", "path=/cobrancas", "status=201", "key=" + key(1), "ms="},
		{"status=500", "sqlstate=25P02"},
		{"status=201", "it looks personal"},
		{"method=GET", "path=/", "status=404"},
	} {
		found := false
		for line := range strings.Lines(out.String()) {
			found = found || !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(line, w) })
		}
		if !found {
			t.Errorf("no line has all of %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "ana@") || strings.Contains(out.String(), "intent=") {
		t.Errorf("%s", out.String())
	}
}
