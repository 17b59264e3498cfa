package spec

import (
	"fmt"
	"io"
	"strings"

	"github.com/jackc/pgx/v5/pgproto3"
)

// column is what libpq works out before it prints one.
type column struct {
	name  string
	width int  // in bytes, as libpq counts
	text  bool // to the left; numbers stand to the right
}

// print writes the rows as libpq's PQprint does for isolationtester (fe-print.c: header, align, no border, "|"). A result without
// columns prints nothing, not even its count.
func (r *result) print(w io.Writer) {
	if !r.table || len(r.names) == 0 {
		return
	}
	columns := make([]column, len(r.names))
	for i, name := range r.names {
		columns[i] = column{name: name, width: len(name)}
		for _, row := range r.rows {
			if v := row[i]; len(v) > 0 { // NULL and '' say nothing about the column
				columns[i].width = max(columns[i].width, len(v))
				columns[i].text = columns[i].text || !looksNumeric(v)
			}
		}
	}
	line := make([]string, len(columns))
	rule := make([]string, len(columns))
	for i, c := range columns {
		line[i], rule[i] = c.pad(c.name), strings.Repeat("-", c.width)
	}
	fmt.Fprintf(w, "%s\n%s\n", strings.Join(line, "|"), strings.Join(rule, "+"))
	for _, row := range r.rows {
		for i, c := range columns {
			line[i] = c.pad(string(row[i]))
		}
		fmt.Fprintln(w, strings.Join(line, "|"))
	}
	s := "s"
	if len(r.rows) == 1 {
		s = ""
	}
	fmt.Fprintf(w, "(%d row%s)\n\n", len(r.rows), s)
}

func (c column) pad(s string) string {
	fill := strings.Repeat(" ", max(0, c.width-len(s)))
	if c.text {
		return s + fill
	}
	return fill + s
}

// looksNumeric is libpq's guess, which takes "1-2" and "3 4" for numbers and "1e" for text.
func looksNumeric(v []byte) bool {
	for _, c := range v {
		if !isDigit(c) && strings.IndexByte(".Ee -", c) < 0 {
			return false
		}
	}
	return v[0] != 'E' && v[0] != 'e' && isDigit(v[len(v)-1])
}

// notice writes a message as libpq hands it to isolationtester: without the context, which libpq keeps for errors.
func notice(w io.Writer, session string, m *pgproto3.NoticeResponse) {
	fmt.Fprintf(w, "%s: %s:  %s\n", session, m.Severity, m.Message)
	for _, more := range []struct{ label, text string }{{"DETAIL", m.Detail}, {"HINT", m.Hint}, {"QUERY", m.InternalQuery}} {
		if more.text != "" {
			fmt.Fprintf(w, "%s:  %s\n", more.label, more.text)
		}
	}
}
