// Package fault is what can be made to go wrong on the way from a customer to the acquirer and back: how it is typed, and the plan
// that says when it strikes. It knows nothing of how it is done, and leaves nothing to the order in which intents come: the same
// seed strikes the same steps of the same intents.
package fault

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is what goes wrong at a step.
type Kind string

// The kinds.
const (
	Lost        Kind = "lost"         // of the request: it never reaches the service; of the answer: it never reaches the client
	RequestLost Kind = "request-lost" // of the capture: the acquirer never hears of it
	ReplyLost   Kind = "reply-lost"   // of the capture: the money moves, the service never hears of it
	Late        Kind = "late"         // of the capture: answered later than the client waits
	Decline     Kind = "decline"      // of the capture: refused
	ErrorBefore Kind = "error-before" // of the capture: a 5xx, and no money moves
	ErrorAfter  Kind = "error-after"  // of the capture: the money moves, and then a 5xx
	Kill        Kind = "kill"         // of the service: its process kills itself at a place
	AckLost     Kind = "ack-lost"     // of a statement: it is done, and its acknowledgement never arrives
	Restart     Kind = "restart"      // of PostgreSQL: it crashes and recovers
)

// The steps that are no statements of a strategy.
const (
	Request  = "request"  // from the client to the service
	Answer   = "answer"   // and back
	Capture  = "capture"  // from the service to the acquirer, and back
	Service  = "service"  // the service's process
	Postgres = "postgres" // the server
	All      = "all"      // every fault but a restart of the server
)

// Fault is one thing that goes wrong, and when.
type Fault struct {
	Step  string
	Kind  Kind   // empty for All
	Place string // of Kill: before-STEP or after-STEP
	When  Occurrence
}

// Occurrence says which of the times that an intent comes to the step are struck. The zero value is the first: a retry then shows what
// came of it. Of a restart, which befalls nobody in particular, it is the attempt of the run.
type Occurrence struct {
	Nth     int     // the nth, from 1
	Percent float64 // a share of them, above 0 to 100, by the seed
}

// nth is the number that counts where no share was asked for.
func (o Occurrence) nth() int { return max(1, o.Nth) }

// String is the occurrence as it is typed.
func (o Occurrence) String() string {
	if o.Percent > 0 {
		return strconv.FormatFloat(o.Percent, 'f', -1, 64) + "%"
	}
	if o.Nth > 0 {
		return strconv.Itoa(o.Nth)
	}
	return ""
}

// String is the fault as it is typed; Parse is its opposite.
func (f Fault) String() string {
	text := f.Step
	if f.Kind != "" {
		text += ":" + string(f.Kind)
	}
	var at []string
	for _, part := range []string{f.Place, f.When.String()} {
		if part != "" {
			at = append(at, part)
		}
	}
	if len(at) > 0 {
		text += "@" + strings.Join(at, ",")
	}
	return text
}

// Crashes says whether the fault ends a session of the service, or loses what the database said: the hazard is then a crash.
func (f Fault) Crashes() bool { return f.Kind == Kill || f.Kind == AckLost || f.Kind == Restart }

// LosesReply says whether the fault leaves the service, or the client, without knowing what the acquirer did.
func (f Fault) LosesReply() bool {
	switch f.Kind {
	case RequestLost, ReplyLost, ErrorBefore, ErrorAfter:
		return true
	}
	return false
}

// Expand puts in the place of All what it stands for, given a strategy's statements. The process is killed after the capture, which
// is where it hurts: the money has moved and no record says so.
func Expand(faults []Fault, statements []string) []Fault {
	var all []Fault
	for _, f := range faults {
		if f.Step != All {
			all = append(all, f)
			continue
		}
		all = append(all, Fault{Step: Request, Kind: Lost, When: f.When}, Fault{Step: Answer, Kind: Lost, When: f.When})
		for _, k := range kindsOf(Capture) {
			all = append(all, Fault{Step: Capture, Kind: k, When: f.When})
		}
		all = append(all, Fault{Step: Service, Kind: Kill, Place: "after-" + Capture, When: f.When})
		for _, s := range statements {
			all = append(all, Fault{Step: s, Kind: AckLost, When: f.When})
		}
	}
	return all
}

// Help says what can be typed, for usage errors and help.
func Help(statements []string) string {
	return fmt.Sprintf(`request:lost, answer:lost, capture:%s, service:kill@before-STEP or @after-STEP, STEP:ack-lost, postgres:restart@ATTEMPT, all@5%%; STEP is one of %s, and of a kill capture, too`,
		joined(kindsOf(Capture)), strings.Join(statements, ", "))
}

func joined(kinds []Kind) string {
	var words []string
	for _, k := range kinds {
		words = append(words, string(k))
	}
	return strings.Join(words, "|")
}
