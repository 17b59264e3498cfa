package schedule

import (
	"context"
	"math/rand/v2"
)

// Random walks: at each point one of the possible actions, a fault with a chance of one in eight. It never ends, and what
// it has not met it has not ruled out.
type Random struct{ rng *rand.Rand }

// faultOdds is the chance of a fault where one is possible: one in so many.
const faultOdds = 8

// NewRandom walks the same way for the same seed.
func NewRandom(seed uint64) *Random { return &Random{rand.New(rand.NewPCG(seed, 0))} }

// More is always true.
func (x *Random) More() bool { return true }

// Run walks from the start to the end.
func (x *Random) Run(ctx context.Context, w World) (Run, error) {
	var r Run
	for {
		enabled := w.Enabled()
		if len(enabled) == 0 {
			return r, nil
		}
		if err := r.advance(ctx, w, enabled, x.pick(enabled)); err != nil {
			return Run{}, err
		}
	}
}

func (x *Random) pick(enabled []Action) Action {
	own, faults := apart(enabled)
	if len(faults) > 0 && x.rng.IntN(faultOdds) == 0 {
		return faults[x.rng.IntN(len(faults))]
	}
	return own[x.rng.IntN(len(own))]
}

func apart(enabled []Action) (own, faults []Action) {
	for _, a := range enabled {
		if a.Kind.Fault() {
			faults = append(faults, a)
		} else {
			own = append(own, a)
		}
	}
	return own, faults
}

// Stands returns for how many orders a walk stands: one over the chance that Random would walk it. The mean over many walks is an
// estimate of how many orders there are (Knuth, "Estimating the efficiency of backtrack programs", 1975): right on average, and
// wide where some orders are much longer than others.
func Stands(walk Run) float64 {
	orders := 1.0
	for _, p := range walk.Points {
		own, faults := apart(p.Enabled)
		switch {
		case p.Event.Action.Kind.Fault():
			orders *= faultOdds * float64(len(faults))
		case len(faults) > 0:
			orders *= float64(len(own)) * faultOdds / (faultOdds - 1)
		default:
			orders *= float64(len(own))
		}
	}
	return orders
}
