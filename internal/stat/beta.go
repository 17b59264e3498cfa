package stat

import "math"

// beta is the regularised incomplete beta function I_x(a, b): the chance that a share which is distributed as Beta(a, b) is below x.
func beta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2): // the fraction converges quickly on one side only
		return 1 - beta(1-x, b, a)
	}
	ab, _ := math.Lgamma(a + b)
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	return math.Exp(ab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) / a / betaFraction(x, a, b)
}

// betaFraction is the continued fraction 1 + d1/(1 + d2/(1 + …)) of the incomplete beta function (DLMF 8.17.22), by the method of
// Lentz: the product of the ratios of its numerators and denominators, until a ratio is 1.
func betaFraction(x, a, b float64) float64 {
	const tiny, enough, most = 1e-300, 1e-15, 1_000_000
	product, numerator, denominator := 1.0, 1.0, 0.0
	for i := 1; i <= most; i++ {
		m := float64(i / 2)
		d := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		if i%2 == 0 {
			d = m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		}
		numerator, denominator = 1+d/numerator, 1+d*denominator
		if math.Abs(numerator) < tiny {
			numerator = tiny
		}
		if math.Abs(denominator) < tiny {
			denominator = tiny
		}
		denominator = 1 / denominator
		product *= numerator * denominator
		if math.Abs(numerator*denominator-1) < enough {
			break
		}
	}
	return product
}

// betaQuantile is the x with I_x(a, b) = p, by halving.
func betaQuantile(p, a, b float64) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if mid := (low + high) / 2; beta(mid, a, b) < p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// tQuantile is how many standard errors Student's t with so many degrees of freedom goes to either side: 1.96 for very many.
func tQuantile(freedom int) float64 {
	f := float64(freedom)
	x := betaQuantile(1-Confidence, f/2, 0.5) // t² of f/(f+t²)
	return math.Sqrt(f * (1 - x) / x)
}
