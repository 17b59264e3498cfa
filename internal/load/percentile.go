package load

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"idemlab/results"
)

// beyond is how many attempts must lie beyond a percentile for it to say anything.
const beyond = 10

// percentile is absent where too few attempts lie beyond it, and never above what was measured: the histogram rounds up.
func percentile(h *hdrhistogram.Histogram, most time.Duration, p float64) *float64 {
	if n := h.TotalCount(); n == 0 || float64(n)*(100-p)/100 < beyond {
		return nil
	}
	v := results.MS(min(time.Duration(h.ValueAtPercentile(p))*time.Microsecond, most))
	return &v
}

func percentiles(h *hdrhistogram.Histogram, most time.Duration) results.Percentiles {
	p := results.Percentiles{P50MS: percentile(h, most, 50), P90MS: percentile(h, most, 90), P99MS: percentile(h, most, 99)}
	if h.TotalCount() > 0 {
		v := results.MS(most)
		p.MaxMS = &v
	}
	return p
}

func latency(h *hdrhistogram.Histogram, most time.Duration) results.LoadLatency {
	l := results.LoadLatency{N: int(h.TotalCount()), Percentiles: percentiles(h, most), P999MS: percentile(h, most, 99.9)}
	if l.N > 0 {
		mean := results.MS(time.Duration(h.Mean() * float64(time.Microsecond)))
		l.MeanMS = &mean
	}
	return l
}
