package schedule

import (
	"fmt"
	"strings"
)

// Version is the version of the notation. A schedule may say it in front ("v1 A:claim …"); without a word it is the first.
const Version = 1

// Item is one letter of a Schedule: a session's turn. Name is its step, or empty in the short form, where the letter stands
// for whatever step is next.
type Item struct {
	Action
	Name string
}

// Schedule is an order of turns, as people write it. Long form, in the names of the steps:
//
//	A:check B:check A:capture B:capture A:insert B:insert
//
// Short form: AABBAB. A letter is a step of that session, a lower-case letter its death before its next step (its client
// tries again); A? is a request to the acquirer that never arrives, A~ one that is carried out and whose answer never comes:
// A:capture? and A:capture~ in the long form. That an answer reaches its client is not written.
type Schedule []Item

// ScheduleOf is what was done in r.
func ScheduleOf(r Run) Schedule {
	var s Schedule
	for _, p := range r.Points {
		if p.Event.Kind != Answer {
			s = append(s, Item{p.Event.Action, p.Event.Step})
		}
	}
	return s
}

// String is the long form.
func (s Schedule) String() string {
	var b strings.Builder
	for i, it := range s {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(it.String())
	}
	return b.String()
}

// Short is the short form.
func (s Schedule) Short() string {
	var b strings.Builder
	for _, it := range s {
		b.WriteString(it.Action.String())
	}
	return b.String()
}

// Faults counts the deaths and the lost replies and requests in s.
func (s Schedule) Faults() (deaths, losses int) {
	for _, it := range s {
		switch it.Kind {
		case Die:
			deaths++
		case LostReply, LostRequest:
			losses++
		}
	}
	return deaths, losses
}

// String is the short form of an action.
func (a Action) String() string {
	switch a.Kind {
	case Die:
		return string('a' + rune(a.Session))
	case Step, Answer:
		return string('A' + rune(a.Session))
	}
	return string('A'+rune(a.Session)) + string(suffix(a.Kind))
}

// suffix marks a loss: ? where the request never arrived, ~ where the answer never came.
func suffix(k Kind) byte {
	if k == LostRequest {
		return '?'
	}
	return '~'
}

// String is "A:claim", "a:claim", "A:capture?"; without a name the short form.
func (it Item) String() string {
	if it.Name == "" {
		return it.Action.String()
	}
	short := it.Action.String()
	return short[:1] + ":" + it.Name + short[1:]
}

// Parse reads either form, strictly.
func Parse(text string) (Schedule, error) {
	fields := strings.Fields(text)
	if len(fields) > 0 && isVersion(fields[0]) {
		if fields[0] != fmt.Sprintf("v%d", Version) {
			return nil, fmt.Errorf("schedule %q: version %s is not known here, only v%d", text, fields[0], Version)
		}
		fields = fields[1:]
	}
	var s Schedule
	for _, f := range fields {
		items, err := parseField(f)
		if err != nil {
			return nil, fmt.Errorf("schedule %q: %w", text, err)
		}
		s = append(s, items...)
	}
	if len(s) == 0 {
		return nil, fmt.Errorf("schedule %q names no step: write A:check B:check …, or AB…", text)
	}
	return s, nil
}

// isVersion: a v and digits. A session's letters are never followed by a digit.
func isVersion(field string) bool {
	return len(field) > 1 && field[0] == 'v' && strings.Trim(field[1:], "0123456789") == ""
}
