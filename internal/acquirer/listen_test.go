package acquirer

import (
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"idemlab/scenarios"
)

// ask is curl.
func ask(t *testing.T, base, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// All that a person with curl can ask it, in the words of its own help.
func TestTheAcquirerByHand(t *testing.T) {
	a := New(Options{Dedup: true})
	srv := httptest.NewServer(a.Handler())
	defer srv.Close()
	const capture = `{"key": "k", "order_id": 1, "amount_cents": 25000}`
	for _, c := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/receipts?key=k", "", 200, `"found": false`},
		{"GET", "/ledger", "", 200, `"entries": []`},
		{"GET", "/faults", "", 200, `"rules": []`},
		{"POST", "/captures", capture, 200, `"receipt": "cap-000001"`},
		{"POST", "/captures", capture, 200, `"receipt": "cap-000001"`},
		{"GET", "/receipts?key=k", "", 200, `"approved": true`},
		{"GET", "/ledger", "", 200, `"captures": 1,`},
		{"GET", "/ledger", "", 200, `"repeat": true`},
		{"POST", "/captures", `{"key": "k"`, 400, ""},
		{"POST", "/captures", `{"key": "k", "Charge": {}}`, 400, "unknown field"},
		{"POST", "/captures", capture + capture, 400, "more than one"},
		{"POST", "/captures", `{"order_id": 1}`, 400, "has a key"},
		{"POST", "/captures", `{"key": "` + strings.Repeat("k", mostBody) + `"}`, 400, ""},
		{"GET", "/captures", "", 405, ""},
		{"PUT", "/faults", `{"rules": [{"fault": "decline", "nth": 1}]}`, 204, ""},
		{"GET", "/faults", "", 200, `"fault": "decline"`},
		{"PUT", "/faults", `{"rules": [{"fault": "fire"}]}`, 400, "say one of lost-request"},
		{"PUT", "/faults", `{"rules": [{"fault": "decline", "often": 1}]}`, 400, "unknown field"},
		{"POST", "/captures", `{"key": "k2", "order_id": 1, "amount_cents": 1}`, 200, `"approved": false`},
		{"GET", "/faults", "", 200, `"struck": [`},
		{"DELETE", "/faults", "", 204, ""},
		{"GET", "/faults", "", 200, `"rules": []`},
		{"GET", "/", "", 404, ""},
	} {
		if status, said := ask(t, srv.URL, c.method, c.path, c.body); status != c.status || !strings.Contains(said, c.says) {
			t.Errorf("%s %s %.60s: %d %s, want %d %s", c.method, c.path, c.body, status, said, c.status, c.says)
		}
	}
	var reply ledgerReply
	if _, said := ask(t, srv.URL, "GET", "/ledger", ""); json.Unmarshal([]byte(said), &reply) != nil ||
		reply.Intents != 2 || reply.Requests != 3 || reply.CapturedCents != 25000 || reply.Entries[0].Intent != "k" {
		t.Errorf("%s", said)
	}
}

func TestALedgerReadFromElsewhereIsTheLedger(t *testing.T) {
	a := New(Options{})
	for _, of := range either(t, a) {
		if _, err := of("i").Capture(t.Context(), charge("k")); err != nil {
			t.Fatal(err)
		}
	}
	base, stop, err := a.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	r := Dial(base+"/", 1)
	defer r.Close()
	got, err := r.Ledger(t.Context())
	if err != nil || len(got) != 2 || got[1].Receipt != a.Ledger()[1].Receipt || !got[1].At.Equal(a.Ledger()[1].At) {
		t.Errorf("%v, %v", got, err)
	}
	rule := Rule{Fault: LostReply, Nth: 1, Share: 0.5}
	if err := r.SetFaults(t.Context(), []Rule{rule}); err != nil {
		t.Fatal(err)
	}
	if rules, struck, err := r.Rules(t.Context()); err != nil || len(rules) != 1 || rules[0] != rule || len(struck) != 1 {
		t.Errorf("%v %v %v", rules, struck, err)
	}
	if err := r.SetFaults(t.Context(), []Rule{{Fault: "fire"}}); err == nil || !strings.Contains(err.Error(), "say one of") {
		t.Errorf("%v", err)
	}
}

// A connection that breaks on the way to the acquirer is one request, and its outcome is unknown. What answers without a receipt is
// no acquirer.
func TestACaptureIsSentOnce(t *testing.T) {
	var arrived atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		switch arrived.Add(1) {
		case 1:
			_, _ = io.WriteString(w, `{"receipt": "cap-1", "approved": true}`)
		case 2:
			panic(http.ErrAbortHandler) // on a connection that has been used before: the case in which Go's client sends again
		default:
			_, _ = io.WriteString(w, `{}`)
		}
	}))
	defer srv.Close()
	r := Dial(srv.URL, 1)
	defer r.Close()
	for i, want := range []bool{true, false, false} {
		got, err := r.For("i").Capture(t.Context(), scenarios.Charge{Key: "k"})
		if (err == nil) != want || got.Approved != want || arrived.Load() != int64(i+1) {
			t.Errorf("request %d: %v, %v; %d arrived", i+1, got, err, arrived.Load())
		}
	}
}

// An acquirer that is not there is no database that is not there: who runs strategies tells the two apart by the error's kind.
func TestAnAcquirerThatIsDownIsNoLostServer(t *testing.T) {
	a := New(Options{})
	base, stop, err := a.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	r := Dial(base, 1)
	defer r.Close()
	var network *net.OpError
	if _, _, err := r.For("i").Find(t.Context(), "k"); err == nil || errors.As(err, &network) {
		t.Errorf("Find: %v", err)
	}
	if _, err := r.For("i").Capture(t.Context(), charge("k")); !errors.Is(err, scenarios.ErrOutcomeUnknown) || errors.As(err, &network) {
		t.Errorf("Capture: %v", err)
	}
}
