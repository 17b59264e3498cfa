package acquirer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is what can go wrong between a service and its acquirer.
type Fault string

// The faults. After the first four the service has no receipt, and cannot tell them from each other: whether money has moved is
// what distinguishes them, and only the ledger knows.
const (
	LostRequest Fault = "lost-request" // it never arrives: nothing is captured, and the connection closes without an answer
	LostReply   Fault = "lost-reply"   // it is captured, and the connection closes without an answer
	ErrorBefore Fault = "error-before" // a 5xx, and nothing is captured
	ErrorAfter  Fault = "error-after"  // it is captured, and then a 5xx
	Late        Fault = "late"         // it is captured at once and answered later than usual
	Decline     Fault = "decline"      // refused, whatever the next request will be told
)

// Faults lists them all.
func Faults() []Fault {
	return []Fault{LostRequest, LostReply, ErrorBefore, ErrorAfter, Late, Decline}
}

// Rule says which captures a fault befalls: those that all of its conditions fit.
type Rule struct {
	Fault Fault `json:"fault"`
	// Intent: only this intent's; empty for any.
	Intent string `json:"intent,omitempty"`
	// Nth: only the nth request of its intent, from 1, counted from when the rules were set; 0 for each. An intent's retries come
	// one after another, so that this says which of them, however many other intents are under way.
	Nth int `json:"nth,omitempty"`
	// Share of them, above 0 and up to 1, by the acquirer's seed, the intent and which of its requests it is; 0 for all.
	Share float64 `json:"share,omitempty"`
	// DelayMS: how much later than usual, for Late.
	DelayMS float64 `json:"delay_ms,omitempty"`
}

// delay is what the rule adds to the acquirer's own latency.
func (r Rule) delay() time.Duration { return time.Duration(r.DelayMS * float64(time.Millisecond)) }

func (r Rule) check() error {
	switch {
	case !slices.Contains(Faults(), r.Fault):
		var names []string
		for _, f := range Faults() {
			names = append(names, string(f))
		}
		return fmt.Errorf("there is no fault %q: say one of %s", r.Fault, strings.Join(names, ", "))
	case r.Nth < 0:
		return fmt.Errorf("%s: nth is %d: say 1 for an intent's first request, or leave it out for each", r.Fault, r.Nth)
	case !(r.Share >= 0 && r.Share <= 1): // a NaN is neither
		return fmt.Errorf("%s: share is %v: say more than 0 and at most 1, or leave it out for all", r.Fault, r.Share)
	case r.Fault == Late && !(r.DelayMS > 0 && r.DelayMS <= float64(longest/time.Millisecond)):
		return fmt.Errorf("%s: delay_ms is %v: say how much later, up to %v", r.Fault, r.DelayMS, longest)
	case r.Fault != Late && r.DelayMS != 0:
		return fmt.Errorf("%s has no delay_ms: only %s has", r.Fault, Late)
	}
	return nil
}

// faults are the rules in force. The first that fits is the one that befalls.
type faults struct {
	rules  []Rule
	struck []int          // how often each of them did
	asked  map[string]int // requests of each intent since the rules were set
	heard  func(intent string, rule int)
}

// OnStrike tells f, from now on, of each rule that strikes: whose request, and the rule's number from 0. It is called with the
// acquirer's lock held, and must not ask the acquirer anything.
func (a *Acquirer) OnStrike(f func(intent string, rule int)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults.heard = f
}

// SetFaults puts these rules in the place of all earlier ones, and counts requests afresh.
func (a *Acquirer) SetFaults(rules []Rule) error {
	for i, r := range rules {
		if err := r.check(); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.faults = faults{rules: slices.Clone(rules), struck: make([]int, len(rules)), asked: map[string]int{}, heard: a.faults.heard}
	return nil
}

// Rules returns the rules in force and how often each has struck: a fault that never did proves nothing.
func (a *Acquirer) Rules() (rules []Rule, struck []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.faults.rules), slices.Clone(a.faults.struck)
}

// befalls returns the rule that strikes an intent's next request, or one without a fault.
func (a *Acquirer) befalls(intent string) Rule {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := &a.faults
	if len(f.rules) == 0 {
		return Rule{}
	}
	f.asked[intent]++
	nth := f.asked[intent]
	for i, r := range f.rules {
		if r.fits(a.opts.Seed, i, intent, nth) {
			f.struck[i]++
			if f.heard != nil {
				f.heard(intent, i)
			}
			return r
		}
	}
	return Rule{}
}

// fits leaves nothing to the order in which intents come: the same seed strikes the same requests of the same intents.
func (r Rule) fits(seed uint64, number int, intent string, nth int) bool {
	return (r.Intent == "" || r.Intent == intent) &&
		(r.Nth == 0 || r.Nth == nth) &&
		(r.Share == 0 || chance(seed, "fault", strconv.Itoa(number), intent, strconv.Itoa(nth)) < r.Share)
}
