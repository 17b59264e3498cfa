package load

import (
	"fmt"
	"time"

	"idemlab/results"
)

// knee is the first cell in which the unrelated attempts fell below half of what they were: it gave way between that cell and the
// one before it in its row or column.
func knee(b *results.Bystander) *results.BystanderKnee {
	for i, c := range b.Cells {
		if c.Share == nil || *c.Share >= kneeBelow {
			continue
		}
		k := &results.BystanderKnee{Cell: i, Detail: fmt.Sprintf("%d attempts at one key and an acquirer that takes %s leave the others %.2f of their rate",
			c.Hot, latencyOf(c), *c.Share)}
		if before, ok := neighbour(b.Cells[:i], c); ok {
			k.Detail += fmt.Sprintf("; %d and %s left %.2f", before.Hot, latencyOf(before), *before.Share)
		}
		if c.Hot >= b.Settings.Pool && c.MaxWaitingForPool > 0 {
			k.Detail += fmt.Sprintf("; the %d hold the whole pool of %d, and up to %d attempts wait for a connection", c.Hot, b.Settings.Pool, c.MaxWaitingForPool)
		}
		return k
	}
	return nil
}

// neighbour is the last cell before c that differs from it in one thing.
func neighbour(before []results.BystanderCell, c results.BystanderCell) (results.BystanderCell, bool) {
	for i := len(before) - 1; i >= 0; i-- {
		n := before[i]
		if n.Share != nil && (n.Hot == c.Hot) != (n.AcquirerLatencyMS == c.AcquirerLatencyMS) {
			return n, true
		}
	}
	return results.BystanderCell{}, false
}

func latencyOf(c results.BystanderCell) string {
	return time.Duration(c.AcquirerLatencyMS * float64(time.Millisecond)).String()
}
