package report

import (
	"fmt"
	"io"
	"strings"

	"idemlab/results"
)

// Lanes draws a schedule: time downward, a lane for each session, then the table as seen from outside, then the acquirer with
// the money. It fits 80 columns, and takes plain ASCII.
func Lanes(w io.Writer, t results.Trace, s Style) error {
	p := newPicture(t, s)
	p.header()
	for i := range t.Turns {
		p.turn(i)
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

// picture is a drawing under way.
type picture struct {
	trace  results.Trace
	style  Style
	marks  marks
	lane   int // width of a session's lane
	table  int // of the table's column
	out    strings.Builder
	life   map[string]life
	before results.Turn // the turn before, to tell what changed
}

// life is what a lane shows where its session does nothing.
type life int

const (
	idle    life = iota // has not begun, or is between attempts
	alive               // in an attempt
	waiting             // in PostgreSQL, for somebody
	ended
)

// marks are the signs of the picture; ASCII has its own.
type marks struct {
	step, wait, wakes, dies, lost, answers, alive, waiting, money, to, cut string
}

func marksFor(ascii bool) marks {
	if ascii {
		return marks{"*", "o", ">", "+", "?", "=", "|", ":", "<-", "->", "."}
	}
	return marks{"●", "◌", "▶", "✝", "⧖", "■", "│", "┊", "◀", "→", "…"}
}

const (
	narrowest  = 80 // the picture's least width
	number     = 4  // of a turn
	moneyWidth = 19 // "◀ R$ 250.00 (2nd)"
	rowWidth   = 15 // "#1 PROCESSANDO"
	widestLane = 34
)

func newPicture(t results.Trace, s Style) *picture {
	width := max(s.Width, narrowest)
	n := max(1, len(t.Sessions))
	p := &picture{trace: t, style: s, marks: marksFor(s.ASCII), table: rowWidth, life: map[string]life{}}
	p.lane = min(widestLane, (width-number-rowWidth-moneyWidth)/n)
	return p
}

func (p *picture) header() {
	p.out.WriteString(strings.Repeat(" ", number))
	for i, what := range p.trace.Sessions {
		name := "session " + letter(i)
		if what != "client" {
			name += " (" + what + ")"
		}
		p.out.WriteString(p.fit(name, p.lane))
	}
	p.out.WriteString(p.fit("table, outside", p.table))
	p.out.WriteString("acquirer\n")
}

func letter(i int) string { return string(rune('A' + i)) }

// turn draws one turn: what was done, who woke up because of it, what clients were told.
func (p *picture) turn(i int) {
	t := p.trace.Turns[i]
	p.life[t.Session] = alive
	text, m := p.did(t)
	if text != "" {
		p.line(fmt.Sprintf("%2d", i+1), t.Session, text, m, p.rows(t), p.captured(t))
	}
	if len(t.WaitsFor) > 0 {
		p.life[t.Session] = waiting
	}
	for _, w := range t.Woke {
		p.life[w.Session] = alive
		p.line("", w.Session, fmt.Sprintf("%s %s %s %s", p.marks.wakes, w.Step, p.marks.to, w.Result), moodOfResult(w.Result), "", "")
	}
	for _, a := range t.Answers {
		p.told(a)
	}
	p.before = t
}

// did is a turn in words, and how it looks.
func (p *picture) did(t results.Turn) (string, mood) {
	switch {
	case t.Kind == results.TurnAnswer:
		return "", plain // the answer itself is drawn, on a line of its own
	case t.Kind == results.TurnDies:
		return p.marks.dies + " dies before " + t.Step, bad
	case t.Kind == results.TurnLostRequest:
		return p.marks.lost + " request lost", bad
	case t.Kind == results.TurnLostReply:
		return p.marks.lost + " reply lost", bad
	case len(t.WaitsFor) > 0:
		return fmt.Sprintf("%s %s waits for %s", p.marks.wait, t.Step, strings.Join(t.WaitsFor, ", ")), unsure
	case t.Result == "" || t.Result == "captured": // the acquirer's column says that
		return p.marks.step + " " + t.Step, plain
	}
	return fmt.Sprintf("%s %s %s %s", p.marks.step, t.Step, p.marks.to, t.Result), moodOfResult(t.Result)
}

func moodOfResult(result string) mood {
	if strings.HasPrefix(result, "ERROR") {
		return bad
	}
	return plain
}

func (p *picture) told(a results.Told) {
	if a.Died {
		p.life[a.Session] = idle // the attempt died: there is nobody to tell
		return
	}
	text := fmt.Sprintf("%s %s", p.marks.answers, a.Answer)
	if a.HTTP > 0 {
		text = fmt.Sprintf("%s %d %s", p.marks.answers, a.HTTP, a.Answer)
	}
	if a.SQLState != "" {
		text += " " + a.SQLState
	}
	m := good
	if a.Answer == "failed" {
		m = bad
	}
	p.line("", a.Session, text, m, "", "")
	p.life[a.Session] = ended
}

// captured marks the money that moved in a turn; the second time for one wish is the one to see.
func (p *picture) captured(t results.Turn) string {
	n := t.Captures
	if n <= p.before.Captures {
		return ""
	}
	text := fmt.Sprintf("%s %s (%s)", p.marks.money, reais(p.trace.AmountCents), ordinal(n))
	if tooMany(t) > tooMany(p.before) {
		return field{mood: bad}.paint(text+"!", p.style)
	}
	return text
}

func tooMany(t results.Turn) int { return max(0, t.Captures-max(t.Wishes, 1)) }

func ordinal(n int) string {
	switch n {
	case 1:
		return "1st"
	case 2:
		return "2nd"
	case 3:
		return "3rd"
	}
	return fmt.Sprintf("%dth", n)
}

// rows shows the table where it has changed.
func (p *picture) rows(t results.Turn) string {
	now := strings.Join(t.Table, " ")
	if now == strings.Join(p.before.Table, " ") {
		return ""
	}
	if now == "" {
		return "(empty)"
	}
	var before, made []string // those that attempts made have a number
	for _, r := range t.Table {
		if strings.HasPrefix(r, "#") {
			made = append(made, r)
		} else {
			before = append(before, r)
		}
	}
	switch {
	case len(before) > 0 && len(made) > 0:
		return strings.Join(before, " ") + " " + summary(made)
	case len(made) > 1:
		return fmt.Sprintf("%d rows: %s", len(made), summary(made))
	}
	return now
}

// summary shortens several rows to their statuses' first letters: "C C P".
func summary(rows []string) string {
	var letters []string
	for _, r := range rows {
		if _, status, ok := strings.Cut(r, " "); ok && status != "" {
			letters = append(letters, string([]rune(status)[:1]))
		}
	}
	return strings.Join(letters, " ")
}

func (p *picture) line(no, session, text string, m mood, table, money string) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-*s", number, no)
	for i := range p.trace.Sessions {
		if letter(i) == session {
			text := p.fit(text, p.lane)
			short := strings.TrimRight(text, " ") // colour ends with the text, so that a line can be trimmed
			b.WriteString(field{mood: m}.paint(short, p.style) + text[len(short):])
			continue
		}
		mark := map[life]string{alive: p.marks.alive, waiting: p.marks.waiting}[p.life[letter(i)]]
		b.WriteString(p.fit(mark, p.lane))
	}
	b.WriteString(p.fit(table, p.table))
	b.WriteString(money)
	p.out.WriteString(strings.TrimRight(b.String(), " ") + "\n")
}

// fit cuts or pads text to a column, whose last cell stays free.
func (p *picture) fit(text string, width int) string {
	r := []rune(text)
	if len(r) > width-1 {
		r = append(r[:max(0, width-1-len([]rune(p.marks.cut)))], []rune(p.marks.cut)...)
	}
	return string(r) + strings.Repeat(" ", max(0, width-len(r)))
}
