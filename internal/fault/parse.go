package fault

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// kindsOf are the kinds that a step knows.
func kindsOf(step string) []Kind {
	switch step {
	case Request, Answer:
		return []Kind{Lost}
	case Capture:
		return []Kind{RequestLost, ReplyLost, Late, Decline, ErrorBefore, ErrorAfter}
	case Service:
		return []Kind{Kill}
	case Postgres:
		return []Kind{Restart}
	}
	return []Kind{AckLost}
}

// steps are those that are no statements, and can be typed with a kind.
func steps() []string { return []string{Request, Answer, Capture, Service, Postgres} }

// Parse reads STEP:KIND[@OCCURRENCE]. statements are the steps of the strategy's own, begin and commit among them.
func Parse(text string, statements []string) (Fault, error) {
	what, at, hasAt := strings.Cut(text, "@")
	step, kind, hasKind := strings.Cut(what, ":")
	f := Fault{Step: step, Kind: Kind(kind)}
	known := append(steps(), statements...)
	switch {
	case step == All && hasKind:
		return f, fmt.Errorf("%q: all has no kind: say all@5%%", text)
	case step == All:
	case !slices.Contains(known, step):
		return f, fmt.Errorf("%q: there is no step %q; there are: %s", text, step, Help(statements))
	case !slices.Contains(kindsOf(step), f.Kind):
		return f, fmt.Errorf("%q: %s has no fault %q: say %s:%s", text, step, kind, step, joined(kindsOf(step)))
	}
	if hasAt && at == "" {
		return f, fmt.Errorf("%q: nothing stands behind the @: say which time, such as @1 or @5%%, or leave it out", text)
	}
	if f.Kind == Kill {
		var comma bool
		if f.Place, at, comma = strings.Cut(at, ","); comma && at == "" {
			return f, fmt.Errorf("%q: nothing stands behind the comma: say which time, such as 2 or 5%%, or leave it out", text)
		}
		if err := checkPlace(f.Place, statements); err != nil {
			return f, fmt.Errorf("%q: %w", text, err)
		}
	}
	var err error
	if f.When, err = parseOccurrence(at); err != nil {
		return f, fmt.Errorf("%q: %w", text, err)
	}
	switch {
	case f.Kind == Restart && f.When.Nth == 0:
		return f, fmt.Errorf("%q: say before which attempt of the run, such as postgres:restart@20", text)
	case f.Step == All && f.When.Percent == 0:
		return f, fmt.Errorf("%q: say how often, such as all@5%%: at every first time nothing would be left to see", text)
	}
	return f, nil
}

// checkPlace wants before- or after- a statement or the capture.
func checkPlace(place string, statements []string) error {
	when, step, ok := strings.Cut(place, "-")
	if ok && (when == "before" || when == "after") && (step == Capture || slices.Contains(statements, step)) {
		return nil
	}
	return fmt.Errorf("a process is killed at a place, and %q is none: say service:kill@before-STEP or @after-STEP, where STEP is %s or one of %s",
		place, Capture, strings.Join(statements, ", "))
}

func parseOccurrence(text string) (o Occurrence, err error) {
	if text == "" {
		return o, nil
	}
	if share, ok := strings.CutSuffix(text, "%"); ok {
		o.Percent, err = strconv.ParseFloat(share, 64)
		if err != nil || !(o.Percent > 0 && o.Percent <= 100) || strings.ContainsAny(share, "eExXpP_+iI") {
			return o, fmt.Errorf("%q is no share: say more than 0%% and at most 100%%", text)
		}
		return o, nil
	}
	o.Nth, err = strconv.Atoi(text)
	if err != nil || o.Nth < 1 || text[0] == '+' {
		return o, fmt.Errorf("%q is no occurrence: say a number from 1 (the nth time that an intent comes there) or a share, such as 5%%", text)
	}
	return o, nil
}
