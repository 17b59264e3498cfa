package acquirer

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"idemlab/scenarios"
)

// either returns the acquirer in this process, and as another process sees it.
func either(t *testing.T, a *Acquirer) map[string]func(string) scenarios.Acquirer {
	t.Helper()
	base, stop, err := a.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := Dial(base, 4)
	t.Cleanup(func() {
		r.Close()
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return map[string]func(string) scenarios.Acquirer{"here": a.For, "elsewhere": r.For}
}

// doors are either, and the mail server.
func doors(t *testing.T, a *Acquirer) map[string]func(string) scenarios.Acquirer {
	t.Helper()
	all := either(t, a)
	all[byMail] = mailer(t, a).For
	return all
}

const byMail = "by e-mail"

// What each fault does to the money and to whoever asked, in this process, over HTTP and by e-mail alike: the first request is struck,
// the second is not.
func TestFaults(t *testing.T) {
	for fault, want := range map[Fault]struct {
		unknown  bool // nobody was told a receipt
		captures int  // of the first request
		declines int
	}{
		LostRequest: {true, 0, 0},
		LostReply:   {true, 1, 0},
		ErrorBefore: {true, 0, 0},
		ErrorAfter:  {true, 1, 0},
		Late:        {false, 1, 0},
		Decline:     {false, 0, 1},
	} {
		a := New(Options{})
		for place, of := range doors(t, a) {
			t.Run(fmt.Sprintf("%s, %s", fault, place), func(t *testing.T) {
				intent := place
				rule := Rule{Fault: fault, Intent: intent, Nth: 1}
				if fault == Late {
					rule.DelayMS = 1
				}
				if err := a.SetFaults([]Rule{rule}); err != nil {
					t.Fatal(err)
				}
				if _, err := of("another").Capture(t.Context(), charge("another")); err != nil {
					t.Errorf("it befell another intent: %v", err)
				}
				r, err := of(intent).Capture(t.Context(), charge(intent))
				if errors.Is(err, scenarios.ErrOutcomeUnknown) != want.unknown || (err != nil) != want.unknown {
					t.Errorf("told %v, %v", r, err)
				}
				if c := a.Counts()[intent]; c.Captures != want.captures || c.Declines != want.declines {
					t.Errorf("the ledger says %+v", c)
				}
				if rules, struck := a.Rules(); !slices.Equal(struck, []int{1}) || rules[0] != rule {
					t.Errorf("%v struck %v", rules, struck)
				}
				if r, err := of(intent).Capture(t.Context(), charge(intent)); err != nil || !r.Approved {
					t.Errorf("the second request was told %v, %v", r, err)
				}
				_, found, err := of(intent).Find(t.Context(), intent)
				if place == byMail {
					if found || !errors.Is(err, scenarios.ErrCannotAsk) {
						t.Errorf("asked about an e-mail: %v, %v", found, err)
					}
				} else if err != nil || !found {
					t.Errorf("asked about the key: %v, %v", found, err)
				}
			})
		}
	}
}

// A late answer comes later than one that is not: the capture is held up by its delay, and a client that gives up first learns nothing.
func TestLateIsLate(t *testing.T) {
	a := New(Options{})
	if err := a.SetFaults([]Rule{{Fault: Late, DelayMS: float64(time.Hour / time.Millisecond)}}); err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithCancel(t.Context())
	go func() {
		for a.Counts()["i"].Captures == 0 {
			time.Sleep(time.Millisecond) // the ledger has nothing to wait on
		}
		giveUp()
	}()
	if _, err := a.For("i").Capture(ctx, charge("k")); !errors.Is(err, scenarios.ErrOutcomeUnknown) {
		t.Errorf("%v", err)
	}
}

// A share strikes the same requests under the same seed, whatever order the intents come in, and others under another one.
func TestAShareIsDecidedBySeedAndIntent(t *testing.T) {
	const n = 400
	struck := func(seed uint64, order []int) (list [n]bool) {
		a := New(Options{Seed: seed})
		if err := a.SetFaults([]Rule{{Fault: ErrorBefore, Share: 0.25}}); err != nil {
			t.Fatal(err)
		}
		for _, i := range order {
			_, err := a.For(fmt.Sprint(i)).Capture(t.Context(), charge(fmt.Sprint(i)))
			list[i] = err != nil
		}
		return list
	}
	var forwards, backwards []int
	for i := range n {
		forwards, backwards = append(forwards, i), append(backwards, n-1-i)
	}
	one := struck(1, forwards)
	if one != struck(1, backwards) {
		t.Error("the order of the intents decides")
	}
	if one == struck(2, forwards) {
		t.Error("the seed does not decide")
	}
	count := 0
	for _, yes := range one {
		if yes {
			count++
		}
	}
	if count < n/8 || count > n/2 {
		t.Errorf("%d of %d struck with a share of 0.25", count, n)
	}
}

// The first rule that fits is the one, an empty list is none, and what cannot be meant is refused and changes nothing.
func TestRules(t *testing.T) {
	a := New(Options{})
	if err := a.SetFaults([]Rule{{Fault: Decline, Nth: 2}, {Fault: ErrorBefore}}); err != nil {
		t.Fatal(err)
	}
	ask := func() (scenarios.Receipt, error) { return a.For("i").Capture(t.Context(), charge("k")) }
	if _, err := ask(); err == nil {
		t.Error("the second rule did not befall the first request")
	}
	if r, err := ask(); err != nil || r.Approved {
		t.Errorf("the first rule did not befall the second request: %v, %v", r, err)
	}
	for _, wrong := range []Rule{
		{}, {Fault: "fire"}, {Fault: Late}, {Fault: Late, DelayMS: -1}, {Fault: Late, DelayMS: 1e12}, {Fault: Decline, DelayMS: 1},
		{Fault: Decline, Nth: -1}, {Fault: Decline, Share: 1.1}, {Fault: Decline, Share: -0.1},
	} {
		if err := a.SetFaults([]Rule{{Fault: LostReply}, wrong}); err == nil {
			t.Errorf("%+v was taken for a rule", wrong)
		}
	}
	if rules, struck := a.Rules(); len(rules) != 2 || !slices.Equal(struck, []int{1, 1}) {
		t.Errorf("%v struck %v", rules, struck)
	}
	if err := a.SetFaults(nil); err != nil {
		t.Fatal(err)
	}
	if r, err := ask(); err != nil || !r.Approved {
		t.Errorf("without rules: %v, %v", r, err)
	}
}

// Whoever listens is told whose request was struck, and by which rule, also of rules that are set later.
func TestStrikesAreTold(t *testing.T) {
	a := New(Options{})
	var told []string
	a.OnStrike(func(intent string, rule int) { told = append(told, fmt.Sprint(intent, " ", rule)) })
	if err := a.SetFaults([]Rule{{Fault: LostReply, Nth: 2}, {Fault: Decline, Intent: "b"}}); err != nil {
		t.Fatal(err)
	}
	for _, intent := range []string{"a", "a", "b", "a"} {
		_, _ = a.For(intent).Capture(t.Context(), scenarios.Charge{Key: intent, AmountCents: 1}) // how it ends is tried elsewhere
	}
	if want := []string{"a 0", "b 1"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// Whatever a charge has, the ledger has it as well, by whichever door it came. A field that a door forgets shows here.
func TestNoDoorLosesPartOfACharge(t *testing.T) {
	var c scenarios.Charge
	v := reflect.ValueOf(&c).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString("a key")
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(i) + 2)
		default:
			t.Fatalf("%s is a %s, which this test cannot fill", v.Type().Field(i).Name, f.Kind())
		}
	}
	a := New(Options{})
	for door, of := range doors(t, a) {
		if _, err := of(door).Capture(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	for _, e := range a.Ledger() {
		if e.Charge != c {
			t.Errorf("%s: %+v, want %+v", e.Intent, e.Charge, c)
		}
	}
}
