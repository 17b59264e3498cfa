package scenarios

import (
	"slices"
	"testing"
)

// Whoever is on this list waits for others of its kind in a database: one too many makes verify slow, one too few makes it wrong.
func TestWhoTakesAdvisoryLocks(t *testing.T) {
	var names []string
	for _, s := range All() {
		if s.TakesAdvisoryLocks() {
			names = append(names, s.Name)
		}
	}
	for name, want := range map[string]bool{"advisory-xact": true, "advisory-session": true, "insert-first": false, "process-mutex": false} {
		if slices.Contains(names, name) != want {
			t.Errorf("%s: %v, want %v (%q)", name, !want, want, names)
		}
	}
	if !(Strategy{Name: "not-in-this-package"}).TakesAdvisoryLocks() {
		t.Error("what cannot be read is taken not to lock")
	}
}

func TestALockInAHelper(t *testing.T) {
	decls := map[string][]decl{
		"direct":    {{file: "direct.go", uses: []string{"tx", "deeper", "direct"}}},
		"deeper":    {{file: "helpers.go", uses: []string{"lockSQL"}}},
		"lockSQL":   {{file: "helpers.go", text: "SELECT PG_TRY_ADVISORY_XACT_LOCK(1)"}},
		"unrelated": {{file: "unrelated.go", uses: []string{"harmless"}}},
		"harmless":  {{file: "helpers.go", text: "SELECT 1"}},
	}
	for file, want := range map[string]bool{"direct.go": true, "unrelated.go": false} {
		if got := lockingHelper(file, decls); got != want {
			t.Errorf("%s: %v", file, got)
		}
	}
	all := readDecls()
	if f := all["advisoryXact"]; len(f) != 1 || f[0].file != "advisory_xact.go" || !MentionsAdvisoryLocks(f[0].text) {
		t.Errorf("advisoryXact is not read: %v", f)
	}
}
