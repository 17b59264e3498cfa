package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// days is a flag for long times: a Go duration, with days too, as 7d or 1d12h.
type days time.Duration

const aDay = 24 * time.Hour

// mostDays keeps sums of durations from overflowing: no key is kept for longer.
const mostDays = 3660

func (d *days) Set(s string) error {
	whole, rest, found := strings.Cut(s, "d")
	if !found {
		whole, rest = "", s
	}
	var sum time.Duration
	if found {
		n, err := strconv.ParseUint(whole, 10, 32)
		if err != nil || n > mostDays {
			return fmt.Errorf("say a time such as 24h, 7d or 1d12h")
		}
		sum = time.Duration(n) * aDay
	}
	if rest != "" {
		v, err := time.ParseDuration(rest)
		if err != nil || v < 0 || v > mostDays*aDay {
			return fmt.Errorf("say a time such as 24h, 7d or 1d12h")
		}
		sum += v
	}
	if s == "" || sum > mostDays*aDay {
		return fmt.Errorf("say a time such as 24h, 7d or 1d12h, %dd at most", mostDays)
	}
	*d = days(sum)
	return nil
}

// String is the opposite of Set.
func (d *days) String() string {
	v := time.Duration(*d)
	if v == aDay {
		return "24h"
	}
	if v < aDay || v%time.Second != 0 {
		return v.String()
	}
	text := fmt.Sprintf("%dd", v/aDay)
	if rest := v % aDay; rest > 0 {
		text += rest.String()
	}
	return text
}

// Type is what --help calls the value.
func (d *days) Type() string { return "duration" }
