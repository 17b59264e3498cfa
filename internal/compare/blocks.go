package compare

import "math"

// What is laid together of samples that follow one another.
const (
	shortest     = 3    // seconds in a block
	fewest       = 10   // blocks that a load run is cut into, where its seconds allow that: so many are worth having
	dependent    = 0.10 // correlation of neighbouring blocks that can be put up with
	mostAlike    = 100  // samples of one side: more say no more, and cost pairs
	fewestToTell = shortest * fewest
)

// blockLength is how many seconds are laid together, in runs of which the shorter has so many, where a second is correlated with the
// one before it by rho.
//
// Seconds of one run are not independent: a busy one is followed by a busy one more often than by a quiet one. Taken as they
// are, they would make differences of noise. The means of longer stretches depend on each other less, so that a run is cut into
// about ten, and into longer ones where its own seconds show that they want it.
func blockLength(seconds int, rho float64) int {
	length := max(shortest, seconds/fewest)
	for neighbours(length, rho) > dependent && length < seconds {
		length++
	}
	return length
}

// neighbours is the correlation of the means of two blocks next to each other, where that of seconds falls by the factor rho
// from one to the next.
func neighbours(length int, rho float64) float64 {
	if rho <= 0 {
		return 0
	}
	n, end := float64(length), 1-math.Pow(rho, float64(length))
	return rho * end * end / (n*(1-rho*rho) - 2*rho*end)
}

// fromOneToTheNext estimates that correlation, of all runs together, each about its own mean; what was not measured is NaN. Short runs
// show too little of it, which is made up for.
func fromOneToTheNext(runs [][]float64) float64 {
	products, squares, longest := 0.0, 0.0, 1
	for _, values := range runs {
		mean := meanOf(values)
		for i, v := range values {
			if math.IsNaN(v) {
				continue
			}
			squares += (v - mean) * (v - mean)
			if i > 0 && !math.IsNaN(values[i-1]) {
				products += (v - mean) * (values[i-1] - mean)
			}
		}
		longest = max(longest, len(values))
	}
	if squares == 0 {
		return 0
	}
	rho := products / squares
	return min(0.95, max(0, rho+(1+3*rho)/float64(longest)))
}

// meanOf is of what was measured; NaN of nothing.
func meanOf(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

// blocks are the means of so many values each, from the end: what is left over is the beginning, where a run is coldest. A
// block in which nothing was measured is none.
func blocks(values []float64, length int) []float64 {
	var means []float64
	for start := len(values) % length; start < len(values); start += length {
		if mean := meanOf(values[start : start+length]); !math.IsNaN(mean) {
			means = append(means, mean)
		}
	}
	return means
}

// thin keeps samples few, by laying neighbours together.
func thin(samples []float64) []float64 {
	if len(samples) <= mostAlike {
		return samples
	}
	return blocks(samples, (len(samples)+mostAlike-1)/mostAlike)
}
