package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// A folded text has the same words in the same order, and no line that could have been shorter is too long.
func TestFold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[a-zé;,]{1,12}`), 1, 40).Draw(t, "words")
		width := rapid.IntRange(1, 80).Draw(t, "width")
		got := fold(strings.Join(words, " "), width)
		if strings.Join(strings.Fields(got), " ") != strings.Join(words, " ") {
			t.Fatalf("%q", got)
		}
		for line := range strings.SplitSeq(got, "\n") {
			if utf8.RuneCountInString(line) > width && strings.Contains(line, " ") && strings.Index(line, " ") <= width {
				t.Fatalf("%q is longer than %d", line, width)
			}
		}
	})
}
