package report

import (
	"bytes"
	"strings"
	"testing"
)

// A run about e-mails speaks of e-mails in every format and shows no money; the same run about captures does both.
func TestARunAboutEMailsSpeaksOfThem(t *testing.T) {
	for effect, c := range map[string]struct{ says, not []string }{
		"":      {[]string{"capture", "R$", "double-charged", "acquirer told"}, []string{"mail", "--effect"}},
		"email": {[]string{"e-mail", "sent twice", "mail server told", "sent twice"}, []string{"capture", "R$", "acquirer told", "charged twice", "double charges"}},
	} {
		d := reference(t, "check-then-act", "insert-first")
		for i := range d.Runs {
			d.Runs[i].Settings.Effect = effect
		}
		md, err := Markdown(d)
		if err != nil {
			t.Fatal(err)
		}
		for format, out := range map[string]string{"wide": text(t, d, Style{Width: 160}), "narrow": text(t, d, Style{Width: 60}), "markdown": md} {
			for _, want := range c.says {
				if !strings.Contains(out, want) {
					t.Errorf("effect %q, %s: %q is missing in\n%s", effect, format, want, out)
				}
			}
			for _, other := range c.not {
				if strings.Contains(out, other) {
					t.Errorf("effect %q, %s: %q stands in\n%s", effect, format, other, out)
				}
			}
		}
		var junit bytes.Buffer
		d.Runs[0].ExitCode = 1
		if err := JUnit(&junit, d); err != nil || strings.Contains(junit.String(), " --effect email") != (effect != "") {
			t.Errorf("effect %q: %v\n%s", effect, err, junit.String())
		}
	}
}
