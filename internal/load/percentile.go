package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"idemlab/results"
)

// beyond is how many attempts must lie beyond a percentile for it to say anything.
const beyond = 10

// percentile is absent where too few attempts lie beyond it, and never above what was measured: the histogram rounds up.
func percentile(h *hdrhistogram.Histogram, most time.Duration, perMille int64) *float64 {
	if h.TotalCount()*(1000-perMille) < 1000*beyond {
		return nil
	}
	v := results.MS(min(time.Duration(h.ValueAtPercentile(float64(perMille)/10))*time.Microsecond, most))
	return &v
}

func percentiles(h *hdrhistogram.Histogram, most time.Duration) results.Percentiles {
	p := results.Percentiles{P50MS: percentile(h, most, 500), P90MS: percentile(h, most, 900), P99MS: percentile(h, most, 990)}
	if h.TotalCount() > 0 {
		v := results.MS(most)
		p.MaxMS = &v
	}
	return p
}

func latency(h *hdrhistogram.Histogram, most time.Duration) results.LoadLatency {
	l := results.LoadLatency{N: int(h.TotalCount()), Percentiles: percentiles(h, most), P999MS: percentile(h, most, 999)}
	if l.N > 0 {
		mean := results.MS(time.Duration(h.Mean() * float64(time.Microsecond)))
		l.MeanMS = &mean
	}
	return l
}
