package cmd

import (
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/term"

	"idemlab/internal/report"
)

// defaultWidth is assumed where there is no terminal to ask: wide enough for the table, so that a file has it too.
const defaultWidth = 120

// terminal says how a report on w may look: in colour only on a terminal, unless told otherwise.
func (a *app) terminal(w io.Writer) report.Style {
	style := report.Style{Width: defaultWidth, Maps: a.maps, Details: a.details}
	if cols, err := strconv.Atoi(a.env("COLUMNS")); err == nil && cols > 0 {
		style.Width = cols
	}
	tty := isTerminal(w)
	if tty {
		if f, ok := w.(*os.File); ok {
			if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
				style.Width = cols
			}
		}
	}
	style.ASCII = !strings.Contains(strings.ToLower(strings.ReplaceAll(a.locale(), "-", "")), "utf8")
	style.Color = a.color == "always" || a.color == "auto" && tty && a.env("NO_COLOR") == "" && a.env("TERM") != "dumb"
	return style
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// locale is what says which signs the terminal knows: the first of these that is set counts.
func (a *app) locale() string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := a.env(name); v != "" {
			return v
		}
	}
	return ""
}

// env looks a variable up in the environment that the program was handed.
func (a *app) env(name string) string {
	for _, kv := range slices.Backward(a.environ) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}
