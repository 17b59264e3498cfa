package report

import (
	"idemlab/results"
	"idemlab/scenarios"
)

// wordsOf are how to speak of what a run counted.
func wordsOf(r results.Run) scenarios.Words {
	if r.Settings == nil {
		return scenarios.Money.Words()
	}
	return scenarios.Effect(r.Settings.Effect).Words()
}

// effectFields are what was had to happen, what is written down of it, and, where it is money, how much.
func effectFields(r results.Run) []field {
	w := wordsOf(r)
	list := []field{
		{w.Doubled, []string{doubleCharged(r)}, moodOfCount(r)},
		{w.Far + " told", []string{told(r)}, plain},
		{"rows", []string{rows(r)}, plain},
	}
	if !w.Cents {
		return list
	}
	return append(list,
		field{"owed", []string{money(r, func(c results.Counts) int64 { return c.OwedCents })}, plain},
		field{"taken", []string{money(r, func(c results.Counts) int64 { return c.CapturedCents })}, moodOfCount(r)})
}

// amount is money in a line, where the effect is money.
func amount(r results.Run, cents *int64, what string) string {
	if !wordsOf(r).Cents || cents == nil {
		return ""
	}
	return ", " + reais(*cents) + what
}

// effectFlag asks for the run's effect once more.
func effectFlag(r results.Run) string {
	if r.Settings == nil || r.Settings.Effect == "" {
		return ""
	}
	return " --effect " + r.Settings.Effect
}
