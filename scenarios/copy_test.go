package scenarios

import (
	"errors"
	"go/format"
	"strings"
	"testing"
)

func TestCopyIsAnotherStrategyThatParses(t *testing.T) {
	for _, s := range All() {
		code, err := CopyOf(s.Name, "my-way")
		if err != nil {
			t.Fatal(err)
		}
		text := string(code)
		if again, err := format.Source(code); err != nil || string(again) != text {
			t.Errorf("the copy of %s is not gofmt's: %v", s.Name, err)
		}
		old, err := Variable(s.Name)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		if !strings.Contains(text, "var MyWay = Strategy{") || !strings.Contains(text, `"my-way"`) || strings.Contains(text, "var "+old+" ") {
			t.Errorf("the copy of %s:\n%s", s.Name, text)
		}
	}
}

func TestNamesOfStrategies(t *testing.T) {
	for name, want := range map[string]string{"my-way": "MyWay", "a": "A", "x2-y": "X2Y"} {
		if got, err := Variable(name); err != nil || got != want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "My-Way", "my way", "-a", "a-", "a--b", "../x", "2x", "é"} {
		if _, err := Variable(name); !errors.Is(err, ErrName) {
			t.Errorf("%q was taken", name)
		}
	}
}
