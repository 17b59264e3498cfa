package consume

import "math/rand/v2"

// point is a place between two steps at which a consumer is killed.
type point int

// The points, the one that costs money first.
const (
	afterCapture point = iota + 1 // the acquirer has answered, and nothing is recorded
	beforeClaim                   // the message is in hand, and nothing is done
	beforeAck                     // everything is done, and the broker has not been told
)

// plan says for which charges, by their order, a consumer is killed, and where: a pure function of the seed. The points take turns.
func plan(o Options) map[int64]point {
	p := map[int64]point{}
	for i, n := range rand.New(rand.NewPCG(o.Seed, killStream)).Perm(o.Charges)[:o.Kills] {
		p[firstOrder+int64(n)] = afterCapture + point(i%3)
	}
	return p
}
