package service

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"idemlab/internal/acquirer"
	"idemlab/internal/instance"
	"idemlab/internal/server"
	"idemlab/internal/server/servertest"
	"idemlab/internal/tables"
	"idemlab/scenarios"
)

func TestMain(m *testing.M) { os.Exit(servertest.Main(m)) }

// running is a service on tables of its own, reached over HTTP.
type running struct {
	*Service
	front  *httptest.Server
	url    string
	acq    *acquirer.Acquirer
	client *Client
	schema *server.Schema
}

// start starts one; change may change what it is, before.
func start(t *testing.T, s scenarios.Strategy, change func(*Config)) *running {
	t.Helper()
	return startOn(t, servertest.Server(t), s, change)
}

func startOn(t *testing.T, srv *server.Server, s scenarios.Strategy, change func(*Config)) *running {
	t.Helper()
	ddl, err := os.ReadFile("../../schema.sql")
	if err != nil {
		t.Fatal(err)
	}
	schema, err := tables.CreateOutOfTurn(t.Context(), srv, string(ddl), s)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{acq: acquirer.New(acquirer.Options{Dedup: s.WantsDedup}), schema: schema}
	c := Config{
		Instance: instance.Config{Conn: schema.Config(), Pool: 8, Isolation: pgx.ReadCommitted, Strategy: s, Seed: 1},
		Acquirer: r.acq.For, Syntax: Lenient, Timeout: time.Minute, RetryAfter: time.Second,
	}
	if change != nil {
		change(&c)
	}
	if r.Service, err = Open(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	r.front = httptest.NewServer(r.Handler())
	r.url, r.client = r.front.URL, Dial(r.front.URL, 50)
	t.Cleanup(func() {
		r.CutOff()
		r.client.Close()
		r.front.Close()
		r.Close()
		if err := schema.Drop(t.Context()); err != nil && srv == servertest.Server(t) {
			t.Error(err)
		}
	})
	return r
}

// request is one charge of an intent.
func request(key string) scenarios.Request {
	return scenarios.Request{Key: key, OrderID: 7, AmountCents: 25000}
}

// key is one that looks like one.
func key(n int) string { return fmt.Sprintf("8e03978e-40d5-43dd-bc93-%012d", n) }

// charge posts one charge and returns what it was told.
func (r *running) charge(t *testing.T, req scenarios.Request) Reply {
	t.Helper()
	reply, err := r.client.Charge(t.Context(), req.Key, req)
	if err != nil {
		t.Error(err)
	}
	return reply
}

// crowd posts n equal charges at the same moment; the replies come as they are given.
func (r *running) crowd(t *testing.T, n int, req scenarios.Request) <-chan Reply {
	t.Helper()
	replies, gate := make(chan Reply, n), make(chan struct{})
	for range n {
		go func() {
			<-gate
			replies <- r.charge(t, req)
		}()
	}
	close(gate)
	return replies
}

// post is curl: raw headers, raw body. A header may stand there more than once.
func (r *running) post(t *testing.T, headers http.Header, body string) (*http.Response, string) {
	t.Helper()
	return r.send(t, http.MethodPost, Path, headers, body)
}

func (r *running) send(t *testing.T, method, path string, headers http.Header, body string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header, req.GetBody, req.Close = headers.Clone(), nil, true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

// rows reads the charges that attempts left.
func (r *running) rows(t *testing.T) []scenarios.Row {
	t.Helper()
	conn, err := pgx.ConnectConfig(t.Context(), r.schema.Config())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	rows, err := tables.Rows(t.Context(), conn, scenarios.ChargeOnce, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	return rows
}
