package report

import (
	"strings"
	"testing"
	"unicode/utf8"

	"idemlab/results"
)

// Consumers have a table of their own, at any width, and the words of their document are in it.
func TestConsumersHaveATable(t *testing.T) {
	for _, broker := range []string{"postgres", "rabbitmq"} {
		d := reference(t, "consume-"+broker)
		for width := 20; width <= 200; width += 15 {
			out := text(t, d, Style{Width: width})
			if lastLine(out) != "verdict: violated, as expected (1 violated, 1 held)" {
				t.Errorf("at %d columns the last line is %q", width, lastLine(out))
			}
			if strings.Contains(out, "┌") && width < Narrow {
				t.Errorf("a table at %d columns", width)
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); strings.HasPrefix(line, "│") && n > width {
					t.Errorf("at %d columns: a line of %d", width, n)
				}
			}
			for _, words := range []string{"20 consumers of 20 planned", "60 of 60 messages", "7 after the capture", "0 of 60 intents", " died"} {
				if !strings.Contains(out, words) {
					t.Errorf("%s at %d columns: no %q", broker, width, words)
				}
			}
		}
	}
	if out := text(t, reference(t, "consume-rabbitmq"), Style{Width: 120}); !strings.Contains(out, "over RabbitMQ 3.10.8, 3 consumers") {
		t.Error(out)
	}
}

func TestConsumersNotes(t *testing.T) {
	zero, n := 0, 3
	for want, change := range map[string]func(*results.Run){
		"a charge sent twice under two ids has two keys": func(r *results.Run) {
			r.Consume.Settings.KeyFrom, r.Consume.DoublePublishes, r.Consume.Settings.DoublePublishID = "message-id", 3, "new"
		},
		"3 messages set aside after 5 deliveries": func(r *results.Run) {},
		"3 dropped by the broker":                 func(r *results.Run) { r.Consume.Deduplicated = &n },
		"0 dropped by the broker":                 func(r *results.Run) { r.Consume.Deduplicated = &zero },
		"2 while the first was at work":           func(r *results.Run) { r.Consume.RanOut = 2 },
		"4 not ended":                             func(r *results.Run) { r.Consume.Unfinished = 4 },
		"this acquirer moves money once":          func(r *results.Run) { r.Consume.Settings.AcquirerDedup = true },
		"20% sent twice, under the same id 2s later": func(r *results.Run) {
			s := &r.Consume.Settings
			s.DoublePublishShare, s.DoublePublishID, s.DoublePublishAfterMS = 0.2, "same", 2000
		},
	} {
		d := reference(t, "consume-postgres")
		d.Runs = d.Runs[:1] // the one that charges twice
		d.Runs[0].Consume.DeadLettered, d.Runs[0].Consume.Settings.MaxDeliveries = 3, 5
		change(&d.Runs[0])
		if out := text(t, d, Style{Width: 120}); !strings.Contains(out, want) {
			t.Errorf("no %q:\n%s", want, out)
		}
	}
}
