package acquirer

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"

	"idemlab/scenarios"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func charge(key string) scenarios.Charge {
	return scenarios.Charge{Key: key, OrderID: 1, AmountCents: 25000}
}

func TestLedgerKnowsTheIntentWhateverTheKey(t *testing.T) {
	a := New(Options{})
	for _, key := range []string{"k1", "k2"} {
		if _, err := a.For("intent-1").Capture(t.Context(), charge(key)); err != nil {
			t.Fatal(err)
		}
	}
	if c := a.Counts()["intent-1"]; c != (Count{Requests: 2, Captures: 2, CapturedCents: 50000}) {
		t.Errorf("counted %+v", c)
	}
	first := a.Ledger()[0]
	found, ok, err := a.For("intent-1").Find(t.Context(), "k1")
	if err != nil || !ok || found != first.Receipt {
		t.Errorf("Find: %v %v %v, want %v", found, ok, err, first.Receipt)
	}
	if _, ok, _ := a.For("intent-1").Find(t.Context(), "k3"); ok {
		t.Error("found a key that was never charged")
	}
}

// An acquirer that deduplicates moves money once for each key, says so in its ledger, and takes a key for one charge only.
func TestDedupMovesMoneyOncePerKey(t *testing.T) {
	a := New(Options{Dedup: true})
	other := charge("k1")
	other.AmountCents *= 2
	var got []scenarios.Receipt
	for _, c := range []scenarios.Charge{charge("k1"), charge("k1"), other, charge("k2")} {
		r, err := a.For("intent-1").Capture(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r)
	}
	if got[1] != got[0] || got[2].Approved || !got[3].Approved || got[3] == got[0] {
		t.Errorf("receipts %v", got)
	}
	if c := a.Counts()["intent-1"]; c != (Count{Requests: 4, Captures: 2, Declines: 1, Repeats: 1, CapturedCents: 50000}) {
		t.Errorf("counted %+v", c)
	}
	if found, ok, err := a.For("intent-1").Find(t.Context(), "k1"); err != nil || !ok || found != got[0] {
		t.Errorf("Find: %v %v %v", found, ok, err)
	}
}

// A client that stops waiting does not undo what it asked for: the money has moved, and the outcome is unknown to it.
func TestCaptureStandsWhenTheClientGoes(t *testing.T) {
	for name, a := range map[string]*Acquirer{"latency": New(Options{Latency: Fixed(time.Hour)}), "gate": New(Options{})} {
		t.Run(name, func(t *testing.T) {
			arrived := make(<-chan struct{})
			if name == "gate" {
				arrived = a.Hold().Arrivals()
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if name == "gate" {
					<-arrived
				}
				cancel()
			}()
			_, err := a.For("i").Capture(ctx, charge("k"))
			if !errors.Is(err, scenarios.ErrOutcomeUnknown) {
				t.Errorf("error %v, want outcome unknown", err)
			}
			if a.Counts()["i"].Captures != 1 {
				t.Error("the ledger forgot the capture")
			}
		})
	}
}

func TestGateHoldsUntilOpened(t *testing.T) {
	a := New(Options{})
	gate := a.Hold()
	done := make(chan error, 2)
	for range 2 {
		go func() {
			_, err := a.For("i").Capture(t.Context(), charge("k"))
			done <- err
		}()
	}
	<-gate.Arrivals()
	<-gate.Arrivals()
	select {
	case <-done:
		t.Fatal("a capture passed the closed gate")
	default:
	}
	gate.Open()
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestDeclinesFollowSeedAndIntent(t *testing.T) {
	const n = 400
	refused := func(seed uint64) map[string]bool {
		a, list := New(Options{DeclineShare: 0.25, Seed: seed}), map[string]bool{}
		for i := range n {
			intent := fmt.Sprint(i)
			for range 2 {
				r, err := a.For(intent).Capture(t.Context(), charge("k"+intent))
				if err != nil {
					t.Fatal(err)
				}
				if before, asked := list[intent]; asked && before == r.Approved {
					t.Fatalf("intent %s was told yes and no", intent)
				}
				list[intent] = !r.Approved
			}
		}
		return list
	}
	one, again, other := refused(1), refused(1), refused(2)
	count, differ := 0, 0
	for k, no := range one {
		if no != again[k] {
			t.Fatal("the same seed refused other intents")
		}
		if no {
			count++
		}
		if no != other[k] {
			differ++
		}
	}
	if count < n/8 || count > n/2 || differ == 0 {
		t.Errorf("%d of %d declined with a share of 0.25, %d differ under another seed", count, n, differ)
	}
}

func TestLatencyReadsWhatItWrites(t *testing.T) {
	for _, s := range []string{"0s", "50ms", "uniform:20ms,80ms", "exp:50ms"} {
		var l Latency
		if err := l.Set(s); err != nil || l.String() != s {
			t.Errorf("%q became %q (%v)", s, l.String(), err)
		}
	}
	for _, s := range []string{"", "50", "-1ms", "exp:", "uniform:1ms", "uniform:80ms,20ms", "normal:1ms,2ms", "1ms,2ms", "uniform:1h,2000000h"} {
		if new(Latency).Set(s) == nil {
			t.Errorf("%q was taken for a latency", s)
		}
	}
}

func TestRemoteIsTheSameAcquirer(t *testing.T) {
	a := New(Options{DeclineShare: 1})
	base, stop, err := a.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := Dial(base, 4)
	got, err := r.For("i").Capture(t.Context(), charge("k"))
	if err != nil || got != a.Ledger()[0].Receipt || got.Approved {
		t.Errorf("captured %v, %v; ledger %v", got, err, a.Ledger())
	}
	found, ok, err := r.For("i").Find(t.Context(), "k")
	if err != nil || !ok || found != got {
		t.Errorf("found %v %v %v", found, ok, err)
	}
	if _, err := Dial(base[:len(base)-1], 1).For("i").Capture(t.Context(), charge("k")); !errors.Is(err, scenarios.ErrOutcomeUnknown) {
		t.Errorf("without the token: %v", err)
	}
	r.Close()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if _, err := r.For("i").Capture(t.Context(), charge("k")); !errors.Is(err, scenarios.ErrOutcomeUnknown) {
		t.Errorf("with nobody listening: %v", err)
	}
	if n := len(a.Ledger()); n != 1 {
		t.Errorf("%d entries in the ledger, want 1", n)
	}
}

// What is settled is forgotten, and only that: an intent that is still open keeps its entries and its key.
func TestSettledAccountsAreForgotten(t *testing.T) {
	a := New(Options{Dedup: true})
	charge := func(intent, key string) {
		t.Helper()
		if _, err := a.For(intent).Capture(t.Context(), scenarios.Charge{Key: key, AmountCents: 100}); err != nil {
			t.Fatal(err)
		}
	}
	charge("one", "k1")
	charge("one", "k1")
	charge("two", "k2")
	if c := a.Settle("one"); c.Requests != 2 || c.Captures != 1 || c.Repeats != 1 || c.CapturedCents != 100 {
		t.Errorf("settled: %+v", c)
	}
	if l := a.Ledger(); len(l) != 1 || l[0].Intent != "two" || l[0].Number != 3 {
		t.Errorf("left: %+v", l)
	}
	for key, want := range map[string]bool{"k1": false, "k2": true} {
		if _, found, _ := a.For("").Find(t.Context(), key); found != want {
			t.Errorf("find %s: %v", key, found)
		}
	}
	if c := a.Settle("one"); c != (Count{}) {
		t.Errorf("settled twice: %+v", c)
	}
}

func TestReceiptID(t *testing.T) {
	for _, n := range []int{0, 1, 9, 10, 99_999, 100_000, 999_999, 1_000_000, 12_345_678} {
		if got, want := receiptID(n), fmt.Sprintf("cap-%06d", n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

// Whose money moved is in the ledger, over the wire and in the file, and is added up where there are several.
func TestTenantsAreToldApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ledger")
	a, _, err := Open(Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	base, stop, err := a.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := Dial(base, 1)
	for _, tenant := range []int64{1, 0, 1} {
		if _, err := r.For("shared").Capture(t.Context(), scenarios.Charge{Key: "k", AmountCents: 5, Tenant: tenant}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.For("alone").Capture(t.Context(), scenarios.Charge{Key: "k2", AmountCents: 5}); err != nil {
		t.Fatal(err)
	}
	r.Close()
	stop()
	want := map[string]map[int64]scenarios.Told{"shared": {
		0: {Requests: 1, Captures: 1, CapturedCents: 5, Receipts: []string{"cap-000002"}},
		1: {Requests: 2, Captures: 2, CapturedCents: 10, Receipts: []string{"cap-000001", "cap-000003"}},
	}}
	if got := a.Tenants(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	b, _, err := Open(Options{}, path)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if got := b.Tenants(); !reflect.DeepEqual(got, want) {
		t.Errorf("from the file: %v", got)
	}
}
