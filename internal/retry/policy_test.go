package retry

import (
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoffsReadBackAndStayWithinTheirBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.Int64Range(1, int64(longest)).Draw(t, "base"))
		most := time.Duration(rapid.Int64Range(int64(base), int64(longest)).Draw(t, "cap"))
		b := rapid.SampledFrom([]Backoff{{kind: "none"}, {kind: "constant", base: base}, Exponential(base, most)}).Draw(t, "backoff")
		var again Backoff
		if err := again.Set(b.String()); err != nil || again != b {
			t.Fatalf("%s: %+v, %v", b.String(), again, err)
		}
		n := rapid.IntRange(1, 1000).Draw(t, "retry")
		wait := b.wait(n, rand.New(rand.NewPCG(1, uint64(n))))
		if wait < 0 || wait > max(b.base, b.cap) || n == 1 && wait > b.base || b.kind == "constant" && wait != base {
			t.Fatalf("%s waits %v before retry %d", b.String(), wait, n)
		}
	})
	for n := 1; n <= 100; n++ { // a doubling too many would be negative
		b := Exponential(268435456, 268435456)
		if wait := b.wait(n, rand.New(rand.NewPCG(1, 1))); wait < 0 || wait > b.cap {
			t.Errorf("%s waits %v before retry %d", b.String(), wait, n)
		}
	}
	for _, text := range []string{"", "none:1s", "constant", "constant:0s", "constant:1s,2s", "exp:1s", "exp:2s,1s", "exp:1ms,2h", "linear:1s", "exp:-1s,1s"} {
		var b Backoff
		if b.Set(text) == nil {
			t.Errorf("%q was taken for %s", text, b.String())
		}
	}
}
