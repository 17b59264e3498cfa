package service

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"idemlab/scenarios"
)

const body = `{"pedido_id": 7, "valor_centavos": 25000}`

// headers are those of a charge, and more: name, value, name, value.
func headers(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(pairs); i += 2 {
		h.Add(pairs[i], pairs[i+1])
	}
	return h
}

func serveFunc(t *testing.T, f http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		f(w, r)
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// What is refused before the strategy sees it: with which status, as a problem that says why, and without a trace in the table or
// at the acquirer. What is put right can be sent again under the same key.
func TestRefusedRequests(t *testing.T) {
	r := start(t, scenarios.InsertFirst, nil)
	good := headers(KeyHeader, key(1))
	typed := func(contentType string) http.Header {
		h := headers(KeyHeader, key(1))
		if contentType == "" {
			h.Del("Content-Type")
		} else {
			h.Set("Content-Type", contentType)
		}
		return h
	}
	for _, c := range []struct {
		name, method, path string
		headers            http.Header
		body               string
		status             int
		kind, says         string
	}{
		{"no key", "POST", Path, headers(), body, 400, "key-missing", "one new key for each charge"},
		{"an empty key", "POST", Path, headers(KeyHeader, ""), body, 400, "key-missing", ""},
		{"a key too long", "POST", Path, headers(KeyHeader, strings.Repeat("k", 256)), body, 400, "key-invalid", "256 characters, and 255 is the most"},
		{"two keys", "POST", Path, headers(KeyHeader, "a", KeyHeader, "b"), body, 400, "key-invalid", "sent 2 times"},
		{"bytes beyond ASCII", "POST", Path, headers(KeyHeader, "cobrança"), body, 400, "key-invalid", "0xc3"},
		{"an intent too long", "POST", Path, headers(KeyHeader, key(1), IntentHeader, strings.Repeat("i", 256)), body, 400, "request-invalid", IntentHeader},
		{"GET", "GET", Path, good, "", 405, "method", "POST"},
		{"PUT", "PUT", Path, good, body, 405, "method", "POST"},
		{"OPTIONS", "OPTIONS", Path, good, "", 405, "method", "POST"},
		{"elsewhere", "POST", "/cobranca", good, body, 404, "not-found", Path},
		{"no type", "POST", Path, typed(""), body, 415, "media-type", "application/json"},
		{"a form", "POST", Path, typed("application/x-www-form-urlencoded"), body, 415, "media-type", "application/json"},
		{"Latin 1", "POST", Path, typed("application/json; charset=iso-8859-1"), body, 415, "media-type", ""},
		{"no body", "POST", Path, good, "", 400, "request-invalid", "ends too early"},
		{"half a body", "POST", Path, good, `{"pedido_id": 7, "valor`, 400, "request-invalid", ""},
		{"half an object", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 25000`, 400, "request-invalid", "ends too early"},
		{"no JSON", "POST", Path, good, `pedido_id=7`, 400, "request-invalid", "JSON"},
		{"a list", "POST", Path, good, `[7, 25000]`, 400, "request-invalid", "must be a JSON object"},
		{"null", "POST", Path, good, `null`, 400, "request-invalid", "must be a JSON object"},
		{"two bodies", "POST", Path, good, body + body, 400, "request-invalid", "behind"},
		{"something behind", "POST", Path, good, body + `}`, 400, "request-invalid", ""},
		{"a field missing", "POST", Path, good, `{"pedido_id": 7}`, 400, "request-invalid", "valor_centavos is missing"},
		{"an unknown field", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 25000, "moeda": "BRL"}`, 400, "request-invalid", "no field \"moeda\""},
		{"a field in capitals", "POST", Path, good, `{"pedido_id": 7, "VALOR_CENTAVOS": 25000}`, 400, "request-invalid", "no field"},
		{"a field twice", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 25000, "valor_centavos": 1}`, 400, "request-invalid", "twice"},
		{"a number in quotes", "POST", Path, good, `{"pedido_id": "7", "valor_centavos": 25000}`, 400, "request-invalid", "pedido_id must be a whole number"},
		{"more than sums can hold", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 9223372036854775807}`, 400, "request-invalid", "from 1 to 1000000000000"},
		{"an object for a number", "POST", Path, good, `{"pedido_id": {}, "valor_centavos": 25000}`, 400, "request-invalid", "pedido_id must be a whole number"},
		{"null for a number", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": null}`, 400, "request-invalid", "valor_centavos must be a whole number"},
		{"a fraction", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 250.5}`, 400, "request-invalid", "250.5"},
		{"an exponent", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 25e3}`, 400, "request-invalid", "25e3"},
		{"nothing to pay", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 0}`, 400, "request-invalid", "from 1"},
		{"less than nothing", "POST", Path, good, `{"pedido_id": -7, "valor_centavos": 25000}`, 400, "request-invalid", "from 1"},
		{"no instalment is the 0th", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 25000, "parcela": 0}`, 400, "request-invalid", "parcela is 0: it must be a whole number from 1 to 2147483647"},
		{"an instalment in quotes", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 25000, "parcela": "1"}`, 400, "request-invalid", "parcela must be a whole number"},
		{"an instalment twice", "POST", Path, good, `{"pedido_id": 7, "parcela": 1, "valor_centavos": 25000, "parcela": 1}`, 400, "request-invalid", "twice"},
		{"more instalments than fit", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 25000, "parcela": 2147483648}`, 400, "request-invalid", "2147483648"},
		{"an instalment, and nothing else", "POST", Path, good, `{"parcela": 1}`, 400, "request-invalid", "pedido_id is missing"},
		{"more than fits", "POST", Path, good, `{"pedido_id": 7, "valor_centavos": 9223372036854775808}`, 400, "request-invalid", "9223372036854775808"},
		{"too much body", "POST", Path, good, `{"pedido_id": 7, ` + strings.Repeat(" ", mostBody) + `"valor_centavos": 25000}`, 413, "too-large", ""},
		{"no health by POST", "POST", "/healthz", headers(), "", 405, "method", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			resp, said := r.send(t, c.method, c.path, c.headers, c.body)
			var p problem
			if err := json.Unmarshal([]byte(said), &p); err != nil || resp.Header.Get("Content-Type") != "application/problem+json" {
				t.Fatalf("no problem: %v %s", resp.Header, said)
			}
			if resp.StatusCode != c.status || p.Status != c.status || p.Type != problemType+c.kind || !strings.Contains(p.Detail+resp.Header.Get("Allow"), c.says) || p.Title == "" {
				t.Errorf("%d %+v", resp.StatusCode, p)
			}
			if (resp.StatusCode == http.StatusMethodNotAllowed) != (resp.Header.Get("Allow") != "") {
				t.Errorf("Allow: %q", resp.Header.Get("Allow"))
			}
		})
	}
	if rows, ledger := r.rows(t), r.acq.Ledger(); len(rows) > 0 || len(ledger) > 0 {
		t.Errorf("left %v, captured %v", rows, ledger)
	}
	if resp, said := r.post(t, good, body); resp.StatusCode != http.StatusCreated {
		t.Errorf("put right: %d %s", resp.StatusCode, said)
	}
}

// The draft's three titles, word for word.
func TestTitlesAreTheDrafts(t *testing.T) {
	r := start(t, scenarios.InsertFirst, nil)
	gate := r.acq.Hold()
	replies := r.crowd(t, 1, request(key(1)))
	<-gate.Arrivals()
	for title, c := range map[string]struct {
		h    http.Header
		body string
	}{
		"Idempotency-Key is missing":                        {headers(), body},
		"A request is outstanding for this Idempotency-Key": {headers(KeyHeader, key(1)), body},
		"Idempotency-Key is already used":                   {headers(KeyHeader, key(1)), strings.Replace(body, "25000", "1", 1)},
	} {
		if _, said := r.post(t, c.h, c.body); !strings.Contains(said, `"title":"`+title+`"`) {
			t.Errorf("%s: %s", title, said)
		}
	}
	gate.Open()
	<-replies
}

// What is accepted beyond the plain case, and that quotes are no part of the key.
func TestAcceptedRequests(t *testing.T) {
	r := start(t, scenarios.InsertFirst, nil)
	for name, h := range map[string]http.Header{
		"bare":            headers(KeyHeader, `a"b`[:1]+key(1)),
		"quoted":          headers(KeyHeader, `"a`+key(1)+`"`),
		"charset":         {"Content-Type": {"application/json; charset=UTF-8"}, KeyHeader: {"a" + key(1)}},
		"with whitespace": headers(KeyHeader, "  a"+key(1)+" "),
	} {
		if resp, said := r.post(t, h, " {\n\"valor_centavos\" : 25000 ,\t\"pedido_id\":7 }\n"); resp.StatusCode != http.StatusCreated {
			t.Errorf("%s: %d %s", name, resp.StatusCode, said)
		}
	}
	if n := len(r.acq.Ledger()); n != 1 {
		t.Errorf("%d captures: they were one key", n)
	}
	longest := strings.Repeat("k", 255)
	if resp, said := r.post(t, headers(KeyHeader, longest), body); resp.StatusCode != http.StatusCreated {
		t.Errorf("255 characters: %d %s", resp.StatusCode, said)
	}
	odd := `a b,c"d\e` + "`'; DROP TABLE cobranca; --"
	if resp, said := r.post(t, headers(KeyHeader, quoteKey(odd)), body); resp.StatusCode != http.StatusCreated {
		t.Errorf("signs of ASCII: %d %s", resp.StatusCode, said)
	}
	var keys []string
	for _, row := range r.rows(t) {
		keys = append(keys, row.Key)
	}
	if len(keys) != 3 || keys[0] != "a"+key(1) || keys[1] != longest || keys[2] != odd {
		t.Errorf("stored %q", keys)
	}
}

func TestKeys(t *testing.T) {
	for value, want := range map[string]struct{ lenient, strict string }{ // the key; empty where it is refused
		`abc`:           {"abc", ""},
		`"abc"`:         {"abc", "abc"},
		`"a b,c"`:       {"a b,c", "a b,c"},
		`"a\"b\\c"`:     {`a"b\c`, `a"b\c`},
		`a\b`:           {`a\b`, ""},
		`:YWJj:`:        {":YWJj:", ""},
		`""`:            {"", ""},
		`"abc`:          {"", ""},
		`"`:             {"", ""},
		`"a"b"`:         {"", ""},
		`"a";b=1`:       {"", ""},
		`"a" `:          {"", ""}, // net/http takes off what stands outside
		`"a\b"`:         {"", ""},
		`"a\`:           {"", ""},
		"\"a\tb\"":      {"", ""},
		"\"a\x7fb\"":    {"", ""},
		`"é"`:           {"", ""},
		`a b`:           {"", ""},
		`a,b`:           {"", ""},
		`a"b`:           {"", ""},
		"a\x00b":        {"", ""},
		`ü`:             {"", ""},
		quoteKey(`\"\`): {`\"\`, `\"\`},
	} {
		for syntax, want := range map[KeySyntax]string{Lenient: want.lenient, Strict: want.strict} {
			got, p := readKey([]string{value}, syntax)
			if got != want || (p != nil) != (want == "") || p != nil && (p.Status != 400 || p.Detail == "") {
				t.Errorf("%s %q: %q %+v, want %q", syntax, value, got, p, want)
			}
		}
	}
}
