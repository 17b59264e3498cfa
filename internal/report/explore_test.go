package report

import (
	"slices"
	"testing"

	"idemlab/results"
)

// 200 walks among 24 orders are not 200 orders, nor 200 of 24.
func TestWalksAreNotOrders(t *testing.T) {
	about := 23.7
	for _, c := range []struct {
		e    results.Explore
		want []string
	}{
		{results.Explore{Search: "random", Schedules: 200, Coverage: "sampled", OrdersEstimate: &about},
			[]string{"200, at random", "sampled", "there are about 24, by estimate"}},
		{results.Explore{Search: "dpor", Schedules: 10, Coverage: "exhaustive"}, []string{"10", "exhaustive"}},
		{results.Explore{Search: "full", Schedules: 24, Coverage: "cut"}, []string{"24", "cut"}},
	} {
		if got := ordersRun(&c.e); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.e.Search, got, c.want)
		}
	}
}
