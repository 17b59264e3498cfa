package scenarios

import "time"

// leaseOf is the length of a claim's lease: the engine's, or the strategy's own.
func leaseOf(env Env, own time.Duration) time.Duration {
	if env.Lease > 0 {
		return env.Lease
	}
	return own
}

// overAtOnce is a lease that has run out by the time anybody else looks. Every lease comes to that moment when its worker
// takes longer than it was given; this one is there from the start, so that no engine has to wait or be lucky to see what
// happens then.
const overAtOnce time.Duration = 0

// longEnough outlasts any call that the lab makes. Nobody can promise that of a network.
const longEnough = 10 * time.Second
