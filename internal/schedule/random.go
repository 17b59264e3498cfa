package schedule

import (
	"context"
	"math/rand/v2"
)

// Random walks: at each point one of the possible actions, a fault with a chance of one in eight. It never ends, and what
// it has not met it has not ruled out.
type Random struct{ rng *rand.Rand }

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
	var own, faults []Action
	for _, a := range enabled {
		if a.Kind.Fault() {
			faults = append(faults, a)
		} else {
			own = append(own, a)
		}
	}
	if len(faults) > 0 && x.rng.IntN(8) == 0 {
		return faults[x.rng.IntN(len(faults))]
	}
	return own[x.rng.IntN(len(own))]
}
