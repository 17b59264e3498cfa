package report

import (
	"fmt"
	"math"
	"strconv"
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

// size writes bytes with three digits: 290 B, 2.50 GB.
func size(bytes float64) string {
	unit := 0
	units := []string{"B", "kB", "MB", "GB", "TB", "PB"}
	for math.Abs(bytes) >= 999.5 && unit < len(units)-1 {
		bytes /= 1000
		unit++
	}
	if unit == 0 {
		return decimal(math.Round(bytes*10)/10) + " B"
	}
	return three(bytes) + " " + units[unit]
}

// three writes a number under 1000 with three digits.
func three(v float64) string {
	switch {
	case math.Abs(v) >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// decimal writes a number without zeros behind it.
func decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
