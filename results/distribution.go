package results

import (
	"math"
	"slices"
	"time"
)

// Percentiles are absent where there is nothing to take them of. They are by nearest rank, so that each was measured.
type Percentiles struct {
	P50MS *float64 `json:"p50_ms,omitempty"`
	P90MS *float64 `json:"p90_ms,omitempty"`
	P99MS *float64 `json:"p99_ms,omitempty"`
	MaxMS *float64 `json:"max_ms,omitempty"`
}

// Distribution is waits in short.
type Distribution struct {
	Count   int     `json:"count"`
	TotalMS float64 `json:"total_ms"`
	Percentiles
}

// Latency is the time from the request to its answer, over N attempts: as the client has it, waiting for the pool included.
type Latency struct {
	N int `json:"n"`
	Percentiles
}

// Distribute sums waits up.
func Distribute(samples []time.Duration) Distribution {
	d := Distribution{Count: len(samples), Percentiles: PercentilesOf(samples)}
	var total time.Duration
	for _, s := range samples {
		total += s
	}
	d.TotalMS = MS(total)
	return d
}

// PercentilesOf takes raw samples, in any order.
func PercentilesOf(samples []time.Duration) Percentiles {
	if len(samples) == 0 {
		return Percentiles{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	rank := func(p float64) *float64 {
		v := MS(sorted[max(1, int(math.Ceil(p*float64(len(sorted)))))-1])
		return &v
	}
	return Percentiles{rank(0.50), rank(0.90), rank(0.99), rank(1)}
}

// MS is a duration in milliseconds, to the microsecond.
func MS(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
