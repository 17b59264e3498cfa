package acquirer

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"idemlab/scenarios"
)

// Whoever types an instalment, or reads of one, counts from 1, by every door and in the file; the first need not be named.
func TestInstalmentsCountFromOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	a, _ := openFile(t, Options{}, path)
	srv := httptest.NewServer(a.Handler())
	defer srv.Close()
	for _, field := range []string{``, `, "installment": 1`, `, "installment": 2`} {
		if status, text := ask(t, srv.URL, "POST", "/captures", `{"key": "k", "order_id": 1, "amount_cents": 1`+field+`}`); status != 200 {
			t.Fatalf("%s: %d %s", field, status, text)
		}
	}
	for _, field := range []string{`0`, `-1`, `"1"`} {
		if status, text := ask(t, srv.URL, "POST", "/captures", `{"key": "k", "order_id": 1, "amount_cents": 1, "installment": `+field+`}`); status != 400 {
			t.Errorf("%s: %d %s", field, status, text)
		}
	}
	third := scenarios.Charge{Key: "k", OrderID: 1, AmountCents: 1, Installment: 2}
	remote, mail := Dial(srv.URL, 1), mailer(t, a)
	defer remote.Close()
	for _, door := range []Elsewhere{remote, mail} {
		if _, err := door.For("i").Capture(t.Context(), third); err != nil {
			t.Fatal(err)
		}
	}
	want := []int{0, 0, 1, 2, 2}
	_, text := ask(t, srv.URL, "GET", "/ledger", "")
	file, err := os.ReadFile(path)
	if err != nil || strings.Count(text, `"installment": 2`) != 1 || strings.Count(text, `"installment": 3`) != 2 || strings.Count(text, `"installment"`) != 3 {
		t.Errorf("%v, %s", err, text)
	}
	if strings.Count(string(file), `"installment":3`) != 2 || strings.Count(string(file), `"installment"`) != 3 {
		t.Errorf("%s", file)
	}
	far, err := remote.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	again, _ := openFile(t, Options{}, path)
	for whose, ledger := range map[string][]Entry{"its own": a.Ledger(), "over HTTP": far, "of the file": again.Ledger()} {
		var got []int
		for _, e := range ledger {
			got = append(got, e.Charge.Installment)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the ledger, %s: %v, want %v", whose, got, want)
		}
	}
}
