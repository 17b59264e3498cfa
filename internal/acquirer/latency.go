package acquirer

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Latency is how long the acquirer takes to answer: a fixed time or a distribution. It is a flag value: "50ms",
// "uniform:20ms,80ms" or "exp:50ms" (exponential, by its mean).
type Latency struct {
	kind string // "" for a fixed time
	a, b time.Duration
}

// Fixed is the latency that is always d.
func Fixed(d time.Duration) Latency { return Latency{a: d} }

// longest is more than anybody waits, and keeps sums of durations from overflowing.
const longest = 24 * time.Hour

// Set parses s; it is the opposite of String.
func (l *Latency) Set(s string) error {
	kind, rest, ok := strings.Cut(s, ":")
	if !ok {
		kind, rest = "", s
	}
	parts := strings.Split(rest, ",")
	want := map[string]int{"": 1, "exp": 1, "uniform": 2}[kind]
	if want == 0 || len(parts) != want {
		return fmt.Errorf("%q is no latency: say 50ms, uniform:20ms,80ms or exp:50ms", s)
	}
	var d [2]time.Duration
	for i, p := range parts {
		v, err := time.ParseDuration(p)
		if err != nil || v < 0 || v > longest {
			return fmt.Errorf("%q is no latency: %q is no duration from 0 to %v, such as 50ms", s, p, longest)
		}
		d[i] = v
	}
	if kind == "uniform" && d[1] < d[0] {
		return fmt.Errorf("%q is no latency: say the shorter time first", s)
	}
	*l = Latency{kind, d[0], d[1]}
	return nil
}

// String is the latency as it is typed.
func (l Latency) String() string {
	switch l.kind {
	case "uniform":
		return fmt.Sprintf("uniform:%v,%v", l.a, l.b)
	case "exp":
		return fmt.Sprintf("exp:%v", l.a)
	}
	return l.a.String()
}

// Type names the flag's value in help.
func (l *Latency) Type() string { return "latency" }

// Mean is the expected time of one answer.
func (l Latency) Mean() time.Duration {
	if l.kind == "uniform" {
		return (l.a + l.b) / 2
	}
	return l.a
}

// sample is the time of the nth answer.
func (l Latency) sample(seed, n uint64) time.Duration {
	if l.kind == "" {
		return l.a
	}
	r := rand.New(rand.NewPCG(seed, n))
	if l.kind == "uniform" {
		return l.a + time.Duration(r.Float64()*float64(l.b-l.a))
	}
	return time.Duration(r.ExpFloat64() * float64(l.a))
}
