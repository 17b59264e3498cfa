package service

import (
	"math"
	"regexp"
	"strings"
	"sync"
)

// warnings says what is wrong with keys that will work today: once for each kind, and never the key itself, which may be just what
// should not stand in a log.
type warnings struct {
	say func(string)

	mu   sync.Mutex
	said map[string]bool
}

func (w *warnings) look(key string) {
	if kind := neighbour(key); kind != "" {
		w.once(kind)
	}
}

// ignoresInstallments is no key's fault, but the strategy's: two bodies that differ are one to it.
const ignoresInstallments = "this strategy does not compare parcela: under a used key another parcela is told the first one's answer, where it should be " +
	"refused; business-event compares it"

func (w *warnings) once(kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.said[kind] {
		return
	}
	if w.said == nil {
		w.said = map[string]bool{}
	}
	w.said[kind] = true
	w.say(kind)
}

// The neighbours of a key: what is sent in its place, and is none.
const (
	easyKey     = "a key is short or regular enough for another charge to have the same: make it of chance, such as a UUID v4"
	emailKey    = "a key looks like an e-mail address: " + personal
	cpfKey      = "a key looks like a CPF: " + personal
	cardKey     = "a key looks like a card's number: " + personal
	personal    = "keys end up in tables and logs, so that nothing personal should stand in them; make it of chance, such as a UUID v4"
	leastBits   = 64 // below it, two of a few billion keys may well be the same
	cpfDigits   = 11
	leastDigits = 13 // of a card's number (ISO/IEC 7812)
	mostDigits  = 19
)

// neighbour says what a key looks like; "" where it looks like one. It guesses: 64 bits of chance are all that it can ask for, and
// an order's number that is long and varied enough passes.
func neighbour(key string) string {
	if kind := looksPersonal(key); kind != "" {
		return kind
	}
	if bits(key) < leastBits {
		return easyKey
	}
	return ""
}

var (
	email = regexp.MustCompile(`[^\s@/:]+@[^\s@/:]+\.[A-Za-z]{2,}`)
	// A number as people write it, on its own: a UUID's digits are cut off by its letters, or of other lengths.
	number = regexp.MustCompile(`(?:^|[^0-9A-Za-z.-])([0-9][0-9. -]*[0-9])(?:$|[^0-9A-Za-z.-])`)
	marks  = strings.NewReplacer(".", "", "-", "", " ", "")
)

func looksPersonal(key string) string {
	if email.MatchString(key) {
		return emailKey
	}
	for _, n := range number.FindAllStringSubmatch(key, -1) {
		digits := marks.Replace(n[1])
		switch {
		case len(digits) == cpfDigits && isCPF(digits):
			return cpfKey
		case len(digits) >= leastDigits && len(digits) <= mostDigits && luhn(digits):
			return cardKey
		}
	}
	return ""
}

// isCPF checks the two last digits of a Brazilian taxpayer's number by those before them, modulo 11.
func isCPF(d string) bool {
	if strings.Count(d, d[:1]) == len(d) { // 111.111.111-11 and the like pass the check, and are nobody's
		return false
	}
	for n := 9; n <= 10; n++ {
		sum := 0
		for i := range n {
			sum += int(d[i]-'0') * (n + 1 - i)
		}
		if int(d[n]-'0') != sum*10%11%10 {
			return false
		}
	}
	return true
}

// luhn checks the last digit of a card's number by those before it.
func luhn(d string) bool {
	sum := 0
	for i := range len(d) {
		n := int(d[len(d)-1-i] - '0')
		if i%2 == 1 {
			if n *= 2; n > 9 {
				n -= 9
			}
		}
		sum += n
	}
	return sum%10 == 0
}

// bits estimates how much chance is in a key: its length times the entropy of its characters. For what was made of chance that is
// about right; for what follows a pattern it is too much, and still often little enough.
func bits(key string) float64 {
	counts := map[rune]int{}
	n := 0
	for _, c := range key {
		counts[c]++
		n++
	}
	sum := 0.0
	for _, count := range counts {
		p := float64(count) / float64(n)
		sum -= p * math.Log2(p)
	}
	return sum * float64(n)
}
