package acquirer

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func openFile(t *testing.T, o Options, path string) (*Acquirer, []string) {
	t.Helper()
	a, notes, err := Open(o, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a, notes
}

// The next acquirer on the file knows what the last one did: entries, keys, and which number comes next.
func TestTheLedgerOutlivesItsAcquirer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	a, _ := openFile(t, Options{Dedup: true, DeclineShare: 0.5, Seed: 1}, path)
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			intent := fmt.Sprint(i % 20) // each twice: a repeat, too, is an entry
			if _, err := a.For(intent).Capture(t.Context(), charge(intent)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	before := a.Ledger()
	if err := a.Close(); err != nil { // all that a kill would leave is what is in the file by now
		t.Fatal(err)
	}
	again, notes := openFile(t, Options{Dedup: true}, path)
	after := again.Ledger()
	same := slices.EqualFunc(before, after, func(x, y Entry) bool {
		sameTime := x.At.Equal(y.At)
		x.At = y.At // its monotonic reading is not kept
		return x == y && sameTime
	})
	if !same || len(notes) > 0 {
		t.Fatalf("%v\nread back as\n%v\nnotes %v", before, after, notes)
	}
	r, err := again.For("7").Capture(t.Context(), charge("7"))
	if found, ok, _ := again.For("7").Find(t.Context(), "7"); err != nil || !ok || r != found {
		t.Errorf("a key from before is answered %v, %v; found %v %v", r, err, found, ok)
	}
	if r, err := again.For("new").Capture(t.Context(), charge("new")); err != nil || r.ID != "cap-000042" {
		t.Errorf("the next receipt is %v, %v", r, err)
	}
}

// Half a line is what a kill in the middle of a write leaves: it goes, is said, and what was there before stays. Anything else that
// is no entry is somebody else's file, and is left as it is.
func TestATornLineAndAForeignFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	a, _ := openFile(t, Options{}, path)
	if _, err := a.For("i").Capture(t.Context(), charge("k")); err != nil {
		t.Fatal(err)
	}
	_ = a.Close()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(slices.Clone(whole), whole[:len(whole)-1]...), 0o600); err != nil {
		t.Fatal(err)
	}
	again, notes := openFile(t, Options{}, path)
	if len(again.Ledger()) != 1 || len(notes) != 1 || !strings.Contains(notes[0], "never answered") {
		t.Errorf("%d entries, notes %q", len(again.Ledger()), notes)
	}
	if _, err := again.For("i").Capture(t.Context(), charge("k2")); err != nil {
		t.Fatal(err)
	}
	_ = again.Close()
	if third, notes := openFile(t, Options{}, path); len(third.Ledger()) != 2 || len(notes) > 0 {
		t.Errorf("%d entries after the repair, notes %q", len(third.Ledger()), notes)
	}

	foreign := filepath.Join(t.TempDir(), "foreign")
	for _, text := range []string{"hello\n", "{}\n", string(whole) + "\n" + string(whole), string(whole[:len(whole)-1]) + " {}\n"} {
		if err := os.WriteFile(foreign, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, _, err := Open(Options{}, foreign); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q: %v", text, err)
		}
		if now, _ := os.ReadFile(foreign); string(now) != text {
			t.Errorf("%q became %q", text, now)
		}
	}
}

// Two acquirers on one file would each not know what the other did.
func TestALedgerHasOneAcquirer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	a, _ := openFile(t, Options{}, path)
	if _, _, err := Open(Options{}, path); err == nil || !strings.Contains(err.Error(), "another acquirer") {
		t.Errorf("%v", err)
	}
	_ = a.Close()
	openFile(t, Options{}, path)
}

// An entry that cannot be written is no capture that anybody is told of.
func TestACaptureThatCannotBeKeptIsNotAnswered(t *testing.T) {
	a, _ := openFile(t, Options{}, filepath.Join(t.TempDir(), "ledger"))
	_ = a.Close()
	if r, err := a.For("i").Capture(t.Context(), charge("k")); err == nil {
		t.Errorf("answered %v", r)
	}
}
