package schedule

import (
	"fmt"
	"strings"
)

// parseField reads one word: A:claim, or any number of letters of the short form.
func parseField(f string) (Schedule, error) {
	if len(f) > 1 && f[1] == ':' {
		it, err := parseLong(f)
		return Schedule{it}, err
	}
	var s Schedule
	for i := 0; i < len(f); i++ {
		a, ok := letter(f[i])
		if !ok {
			return nil, fmt.Errorf("%q in %q is no session: sessions are A to Z, a to z where they die", f[i:i+1], f)
		}
		if i+1 < len(f) {
			if kind, ok := lost(f[i+1]); ok {
				if a.Kind == Die {
					return nil, fmt.Errorf("%q: a session that dies loses no reply", f[i:i+2])
				}
				a.Kind = kind
				i++
			}
		}
		s = append(s, Item{Action: a})
	}
	return s, nil
}

func parseLong(f string) (Item, error) {
	a, ok := letter(f[0])
	if !ok {
		return Item{}, fmt.Errorf("%q: %q is no session: sessions are A to Z, a to z where they die", f, f[:1])
	}
	name := f[2:]
	if n := len(name); n > 0 {
		if kind, ok := lost(name[n-1]); ok {
			if a.Kind == Die {
				return Item{}, fmt.Errorf("%q: a session that dies loses no reply", f)
			}
			a.Kind, name = kind, name[:n-1]
		}
	}
	if name == "" || name != Name(name) {
		return Item{}, fmt.Errorf("%q: %q is no name of a step: names are lower-case letters, digits, dots and - or _", f, name)
	}
	return Item{a, name}, nil
}

func letter(c byte) (Action, bool) {
	switch {
	case 'A' <= c && c <= 'Z':
		return Action{Session: int(c - 'A')}, true
	case 'a' <= c && c <= 'z':
		return Action{int(c - 'a'), Die}, true
	}
	return Action{}, false
}

func lost(c byte) (Kind, bool) {
	switch c {
	case suffix(LostRequest):
		return LostRequest, true
	case suffix(LostReply):
		return LostReply, true
	}
	return 0, false
}

// Name makes a step's name fit for a schedule: lower case, and a dash for whatever is not a letter, a digit, - _ or a dot.
func Name(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, strings.ToLower(text))
}
