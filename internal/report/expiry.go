package report

import (
	"fmt"
	"strings"
	"time"

	"idemlab/results"
)

func expiryHeading(b *strings.Builder, r results.Run) {
	s := r.Expiry.Settings
	when := "before that"
	if s.RetryAfterS > s.KeyLifetimeS {
		when = "LATER THAN THAT"
	}
	fmt.Fprintf(b, "%s, %s: keys live %s, their clients come again after %s, %s; purged is %s, %s at once; seed %d\n",
		r.Engine, r.Scenario, span(s.KeyLifetimeS), span(s.RetryAfterS), when, s.Purge, count(s.Batch, "row"), r.Seed)
}

// span is a time in the units in which lifetimes are agreed.
func span(seconds float64) string {
	text := time.Duration(seconds * float64(time.Second)).Round(time.Millisecond).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// expiryFields are the figures of a purge and of the clients that came after it.
func expiryFields(r results.Run) []field {
	x := r.Expiry
	list := []field{
		kindOf(x, "answered", "answered"),
		kindOf(x, "at the acquirer", "unfinished"),
		kindOf(x, "new", "fresh"),
		{"purged", []string{count(x.Deleted, "row") + " in " + batches(x.Batches)}, plain},
	}
	return append(list,
		field{"double-charged", []string{doubleCharged(r)}, moodOfCount(r)},
		field{"owed", []string{money(r, func(c results.Counts) int64 { return c.OwedCents })}, plain},
		field{"taken", []string{money(r, func(c results.Counts) int64 { return c.CapturedCents })}, moodOfCount(r)},
		field{"control", []string{control(r)}, plain},
		field{"verdict", []string{strings.ToUpper(string(r.Verdict)) + ending(r)}, moodOf(r)},
	)
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return thousands(int64(n)) + " batches"
}

func kindOf(x *results.Expiry, label, kind string) field {
	for _, g := range x.Groups {
		if g.Kind != kind {
			continue
		}
		told := "told " + byAnswer(g.Told)
		if later := byAnswer(g.Later); later != byAnswer(g.Told) {
			told += ", later " + later
		}
		f := field{label, []string{fmt.Sprintf("%s, %d purged", count(g.Intents, "intent"), g.Purged), count(g.Captures, "capture"), told}, plain}
		if g.DoubleCharged > 0 {
			f.mood = bad
		}
		return f
	}
	return field{label, []string{absent}, plain}
}
