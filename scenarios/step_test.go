package scenarios

import "testing"

func TestStepOf(t *testing.T) {
	for sql, want := range map[string]string{
		"/* claim */\n\tINSERT INTO cobranca": "claim",
		"  /*claim*/ INSERT":                  "claim",
		"INSERT /* claim */":                  "",
		"/* claim INSERT":                     "",
		"":                                    "",
	} {
		if got := StepOf(sql); got != want {
			t.Errorf("StepOf(%q) = %q, want %q", sql, got, want)
		}
	}
}

func TestStepsAreTheArticlesOrder(t *testing.T) {
	steps, err := Steps("insert-first")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range steps {
		names = append(names, StepOf(s))
	}
	if len(names) != 3 || names[0] != "claim" || names[1] != "read" || names[2] != "record" {
		t.Errorf("steps of insert-first: %q", names)
	}
	if _, err := Steps("no-such-strategy"); err == nil {
		t.Error("a strategy without a file has no steps")
	}
}
