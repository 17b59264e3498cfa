package report

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"idemlab/results"
)

// isBystander says that the document shows what attempts at one key do to others.
func isBystander(d results.Document) bool { return len(d.Runs) > 0 && d.Runs[0].Bystander != nil }

// bystander is a table for each strategy, a row for each cell, and its knee.
func bystander(b *strings.Builder, d results.Document, s Style) error {
	set, r := d.Runs[0].Bystander.Settings, d.Runs[0]
	fmt.Fprintf(b, "%s, %s: %s on keys of their own (the acquirer takes %s for them) and a SELECT 1 every %s,\nbeside attempts at one hot key, over one pool of %d; cells of %s; seed %d\n",
		r.Engine, r.Scenario, count(set.Clients, "client"), short(set.AcquirerMS), short(1000/set.PingsPerSecond), set.Pool, short(set.DurationMS), r.Seed)
	place(b, r)
	b.WriteString("others/s: attempts on keys of their own, undisturbed → disturbed; left: the share of it; p50, p90: their response times;\n" +
		"SELECT 1: its p90; waiters: for a lock, at most; queue: for a connection, at most; held: connections × time\n\n")
	for _, r := range d.Runs {
		if r.Bystander == nil {
			continue
		}
		fmt.Fprintf(b, "%s\n", r.Strategy)
		t, err := bystanderTable(r.Bystander.Cells, renderer.NewBlueprint(tw.Rendition{Symbols: tw.NewSymbols(tw.StyleLight)}), s)
		if err != nil {
			return err
		}
		if widest(t) <= s.Width && s.Width >= Narrow {
			b.WriteString(t)
		} else {
			bystanderList(b, r.Bystander.Cells, s)
		}
		b.WriteString(kneeText(*r.Bystander) + "\n")
		if r.Bystander != d.Runs[len(d.Runs)-1].Bystander {
			b.WriteString("\n")
		}
	}
	return nil
}

func bystanderHeader() []string {
	return []string{"hot", "acquirer", "others/s", "left", "p50", "p90", "SELECT 1", "waiters", "queue", "idle in tx", "held a capture"}
}

func bystanderRow(c results.BystanderCell) []string {
	held := absent
	if c.Connections.SecondsPerCapture != nil {
		held = fmt.Sprintf("%.2f s", *c.Connections.SecondsPerCapture)
	}
	return []string{
		fmt.Sprint(c.Hot), short(c.AcquirerLatencyMS),
		perSecond(c.Undisturbed.PerSecond) + " → " + perSecond(c.Disturbed.PerSecond), shareText(c.Share),
		ms(c.Disturbed.Response.P50MS), ms(c.Disturbed.Response.P90MS), ms(c.Disturbed.Ping.P90MS),
		fmt.Sprint(c.MaxLockWaiters), fmt.Sprint(c.MaxWaitingForPool),
		secondsText(c.Connections.IdleInTxSeconds), held,
	}
}

func shareText(share *float64) string {
	if share == nil {
		return absent
	}
	return fmt.Sprintf("%.2f", *share)
}

func moodOfWhatIsLeft(share *float64) mood {
	if share != nil && *share < 0.5 {
		return bad
	}
	return plain
}

// bystanderMarkdown is the same for a page.
func bystanderMarkdown(d results.Document) (string, error) {
	var b strings.Builder
	for _, r := range d.Runs {
		if r.Bystander == nil {
			continue
		}
		t, err := bystanderTable(r.Bystander.Cells, renderer.NewMarkdown(), Style{})
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "**%s**\n\n%s\n%s\n\n", r.Strategy, t, kneeText(*r.Bystander))
	}
	return b.String(), nil
}

func bystanderTable(cells []results.BystanderCell, r tw.Renderer, s Style) (string, error) {
	var out bytes.Buffer
	t := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(r),
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithHeaderAlignment(tw.AlignLeft), tablewriter.WithRowAlignment(tw.AlignRight),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone), tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithEastAsian(tw.Off),
	)
	t.Header(bystanderHeader())
	for _, c := range cells {
		row := bystanderRow(c)
		row[3] = field{mood: moodOfWhatIsLeft(c.Share)}.paint(row[3], s)
		if err := t.Append(row); err != nil {
			return "", fmt.Errorf("add row to table: %w", err)
		}
	}
	if err := t.Render(); err != nil {
		return "", fmt.Errorf("render table: %w", err)
	}
	return out.String(), nil
}

func bystanderList(b *strings.Builder, cells []results.BystanderCell, s Style) {
	for _, c := range cells {
		for i, v := range bystanderRow(c) {
			if i == 3 {
				v = field{mood: moodOfWhatIsLeft(c.Share)}.paint(v, s)
			}
			fmt.Fprintf(b, "  %-15s %s\n", bystanderHeader()[i], v)
		}
		b.WriteString("\n")
	}
}

func kneeText(b results.Bystander) string {
	switch {
	case len(b.Cells) == 0:
		return "nothing was measured"
	case b.Knee != nil:
		return "knee: " + b.Knee.Detail
	}
	least := -1
	for i, c := range b.Cells {
		if c.Share != nil && (least < 0 || *c.Share < *b.Cells[least].Share) {
			least = i
		}
	}
	if least < 0 {
		return "no knee: undisturbed, nothing was answered either"
	}
	c := b.Cells[least]
	return fmt.Sprintf("no knee: the others kept %.2f of their rate at the least (%d hot, acquirer %s)",
		*c.Share, c.Hot, time.Duration(c.AcquirerLatencyMS*float64(time.Millisecond)))
}
