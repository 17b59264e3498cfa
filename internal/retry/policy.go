package retry

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Backoff is how long a client waits before it sends again. It is a flag value: "none", "constant:50ms", or "exp:10ms,1s":
// exponential, from a base to a cap, with full jitter (a time drawn evenly from none to the whole), so that clients that failed together do
// not come back together.
type Backoff struct {
	kind      string
	base, cap time.Duration
}

// Exponential waits up to base, then twice that, and so on up to a cap.
func Exponential(base, most time.Duration) Backoff { return Backoff{"exp", base, most} }

// longest keeps what is typed from overflowing when it is doubled.
const longest = time.Hour

// Set parses s; it is the opposite of String.
func (b *Backoff) Set(s string) error {
	const say = "say none, constant:50ms or exp:10ms,1s"
	kind, rest, _ := strings.Cut(s, ":")
	parts := strings.Split(rest, ",")
	if want := map[string]int{"none": 1, "constant": 1, "exp": 2}[kind]; want != len(parts) || kind == "none" && s != kind {
		return fmt.Errorf("%q is no back-off: %s", s, say)
	}
	if kind == "none" {
		*b = Backoff{kind: kind}
		return nil
	}
	var d [2]time.Duration
	for i, p := range parts {
		v, err := time.ParseDuration(p)
		if err != nil || v <= 0 || v > longest {
			return fmt.Errorf("%q is no back-off: %q is no duration up to %v; %s", s, p, longest, say)
		}
		d[i] = v
	}
	if kind == "exp" && d[1] < d[0] {
		return fmt.Errorf("%q is no back-off: say the base first, and then the cap", s)
	}
	*b = Backoff{kind, d[0], d[1]}
	return nil
}

// String is the back-off as it is typed.
func (b Backoff) String() string {
	switch b.kind {
	case "constant":
		return fmt.Sprintf("constant:%v", b.base)
	case "exp":
		return fmt.Sprintf("exp:%v,%v", b.base, b.cap)
	}
	return "none"
}

// Type names the flag's value in help.
func (b *Backoff) Type() string { return "backoff" }

// wait is how long to wait before the nth retry, from 1.
func (b Backoff) wait(n int, r *rand.Rand) time.Duration {
	switch b.kind {
	case "constant":
		return b.base
	case "exp":
		whole := b.cap
		if shift := n - 1; shift < 63 && b.base < b.cap>>shift { // the other way round it would overflow
			whole = b.base << shift
		}
		return time.Duration(r.Float64() * float64(whole))
	}
	return 0
}

// KeyPolicy is which key a retry carries.
type KeyPolicy string

// The key policies. Only the first is right.
const (
	SameKey       KeyPolicy = "same"            // the intent's own, for all its attempts
	NewPerAttempt KeyPolicy = "new-per-attempt" // a new one each time, as a client library does that was never told
	OrderID       KeyPolicy = "order-id"        // the order's number: a second wish to pay for the order is taken for the first
)

// KeyPolicies lists them.
func KeyPolicies() []KeyPolicy { return []KeyPolicy{SameKey, NewPerAttempt, OrderID} }
