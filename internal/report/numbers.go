package report

import (
	"fmt"
	"strconv"

	"idemlab/internal/stat"
)

// thousands writes 12345 as 12,345.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// reais writes cents as the article's currency.
func reais(cents int64) string {
	sign := ""
	if cents < 0 {
		sign, cents = "-", -cents
	}
	return fmt.Sprintf("%sR$ %s.%02d", sign, thousands(cents/100), cents%100)
}

// upper95 is the largest share of intents that could be double-charged with 0 seen in n, with 95 % confidence. Attempts of one
// intent are not independent; intents, raced one after another, are what is counted.
func upper95(n int) float64 { return stat.NoneBound(n) }
