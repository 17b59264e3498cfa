package results

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A run of captures says what was owed and taken; one of e-mails may leave it out, and then leaves out both.
func TestCentsAreOfMoneyAlone(t *testing.T) {
	text, err := os.ReadFile("reference/insert-first.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := compile(t)
	for name, c := range map[string]struct {
		effect string
		drop   []string
		fits   bool
	}{
		"captures":                 {"", nil, true},
		"captures without money":   {"", []string{"owed_cents", "captured_cents"}, false},
		"e-mails":                  {"email", []string{"owed_cents", "captured_cents"}, true},
		"e-mails with half of it":  {"email", []string{"owed_cents"}, false},
		"e-mails of older version": {"email", nil, true},
	} {
		var doc map[string]any
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		run := doc["runs"].([]any)[0].(map[string]any)
		if c.effect != "" {
			run["settings"].(map[string]any)["effect"] = c.effect
		}
		for _, field := range c.drop {
			delete(run["counts"].(map[string]any), field)
		}
		changed, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(changed))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(value); (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
	}
}
