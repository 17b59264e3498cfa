package fault

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
)

// Plan says of each step, when an intent comes to it, whether something goes wrong there. It is safe for concurrent use, and the one
// that counts: processes that come and go ask it.
type Plan struct {
	seed   uint64
	faults []Fault

	mu      sync.Mutex
	struck  []int
	reached map[visit]int
	off     bool
}

type visit struct{ point, intent string }

// NewPlan makes a plan of faults, All already expanded.
func NewPlan(seed uint64, faults []Fault) *Plan {
	return &Plan{seed: seed, faults: slices.Clone(faults), struck: make([]int, len(faults)), reached: map[visit]int{}}
}

// Faults are those of the plan.
func (p *Plan) Faults() []Fault { return slices.Clone(p.faults) }

// Off ends it: from now on nothing goes wrong.
func (p *Plan) Off() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.off = true
}

// IsOff says whether it has ended.
func (p *Plan) IsOff() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.off
}

// Acked is the point at which a statement is acknowledged.
func Acked(statement string) string { return "ack " + statement }

// Point is where a fault waits. Those of the capture wait at the acquirer, and those of the server for an attempt of the run.
func (f Fault) Point() string {
	switch f.Kind {
	case Kill:
		return f.Place
	case AckLost:
		return Acked(f.Step)
	}
	return f.Step
}

// Points are all those at which something waits.
func (p *Plan) Points() []string {
	var points []string
	for _, f := range p.faults {
		if pt := f.Point(); !slices.Contains(points, pt) {
			points = append(points, pt)
		}
	}
	return points
}

// Reach notes that an intent has come to a point, and returns the fault that strikes it there. Of several the first counts.
func (p *Plan) Reach(point, intent string) (Fault, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.off {
		return Fault{}, false
	}
	v := visit{point, intent}
	p.reached[v]++
	for i, f := range p.faults {
		if f.Point() == point && p.fits(i, intent, p.reached[v]) {
			p.struck[i]++
			return f, true
		}
	}
	return Fault{}, false
}

// Strike counts a fault that struck by other means.
func (p *Plan) Strike(number int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.struck[number]++
}

// Struck is how often each fault did, in their order: one that never did proves nothing.
func (p *Plan) Struck() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.struck)
}

func (p *Plan) fits(number int, intent string, nth int) bool {
	when := p.faults[number].When
	if when.Percent > 0 {
		return chance(p.seed, strconv.Itoa(number), intent, strconv.Itoa(nth))*100 < when.Percent
	}
	return nth == when.nth()
}

// chance is a number from 0 to 1 that depends on the seed and the words alone.
func chance(seed uint64, words ...string) float64 {
	h := fnv.New64a()
	for _, w := range words {
		_, _ = h.Write([]byte(w)) // never fails, by its documentation
		_, _ = h.Write([]byte{0})
	}
	return rand.New(rand.NewPCG(seed, h.Sum64())).Float64()
}
