package load

import (
	"fmt"
	"time"

	"idemlab/results"
)

// knee is the first cell in which the unrelated attempts fell below half of what they were: it gave way between that cell and the
// one before.
func knee(b *results.Bystander) *results.BystanderKnee {
	for i, c := range b.Cells {
		if c.Share >= kneeBelow {
			continue
		}
		k := &results.BystanderKnee{Cell: i, Detail: fmt.Sprintf("%d attempts at one key and an acquirer that takes %s leave the others %.2f of their rate",
			c.Hot, latencyOf(c), c.Share)}
		if i > 0 {
			before := b.Cells[i-1]
			k.Detail += fmt.Sprintf("; %d and %s left %.2f", before.Hot, latencyOf(before), before.Share)
		}
		if c.Hot >= b.Settings.Pool && c.MaxWaitingForPool > 0 {
			k.Detail += fmt.Sprintf("; the %d hold the whole pool of %d, and up to %d attempts wait for a connection", c.Hot, b.Settings.Pool, c.MaxWaitingForPool)
		}
		return k
	}
	return nil
}

func latencyOf(c results.BystanderCell) string {
	return time.Duration(c.AcquirerLatencyMS * float64(time.Millisecond)).String()
}
