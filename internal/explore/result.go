package explore

import (
	"fmt"
	"time"

	"idemlab/scenarios"
)

// Result is what a run found: the run document's "explore", and a little more.
type Result struct {
	Options       Options
	Schedules     int // complete ones that were judged; under DPOR one per class
	Violating     int // of these
	Redundant     int // given up half-way, because another schedule covers them
	Probes        int // run besides, to find the shortest violation; not counted above
	BlockedSteps  int
	Divergences   int     // executions that did not repeat themselves, and were run again
	Orders        float64 // an estimate of how many schedules there are, from random walks; 0 from other searches
	Complete      bool
	Cut           string // why it is not complete: "budget", "schedules", "interrupted", "sampled", "enough", "diverged", "ungated", "void", or empty
	Inconclusive  string // why nothing can be said, if that is so
	Duration      time.Duration
	Outcomes      []OutcomeCount // in the order first seen
	Violations    []Violation    // the shortest schedule for each anomaly found, worst anomaly first
	Fingerprint   string         // of every step, result, wait, wake-up and answer, in order
	ServerVersion string
	Isolation     string
	Split         bool
	SplitCommit   bool   // the COMMIT of a SERIALIZABLE transaction was two steps
	WholeCommits  bool   // some such COMMIT was one
	Clock         bool   // the strategy has looked at a clock, its process's or PostgreSQL's
	Notices       bool   // waits were told by PostgreSQL rather than polled for
	WakeOneByOne  bool   // waiters let go by one step went on one by one, in order
	OracleDiffers string // a history on which Porcupine and the invariants differ: the run is void
	classes       map[string]map[string]bool
	keys          map[string]bool
	proofs        []time.Duration // how long it took to prove each wait
}

// OutcomeCount is an outcome, and how many of the schedules came to it.
type OutcomeCount struct {
	Outcome
	Schedules int
}

// Violation is a schedule in which an anomaly shows.
type Violation struct {
	Anomaly  scenarios.Anomaly
	Detail   string
	Schedule string // long form
	Short    string
	Faults   int
	Switches int
	Minimal  bool // every schedule with fewer faults, or as many and fewer switches, was run: none has the anomaly
}

// SchedulesPerSecond counts all executions, those given up and those besides included.
func (r Result) SchedulesPerSecond() float64 {
	if r.Duration <= 0 {
		return 0
	}
	return float64(r.Schedules+r.Redundant+r.Probes) / r.Duration.Seconds()
}

// Coverage is how far the answer reaches, in one word: exhaustive within the bounds, cut, or sampled.
func (r Result) Coverage() string {
	switch {
	case r.Complete:
		return "exhaustive"
	case r.Cut == "sampled":
		return "sampled"
	}
	return "cut"
}

// cutInWords says what ended the search before its end.
func (r Result) cutInWords() string {
	after := fmt.Sprintf(" after %d of them", r.Schedules)
	switch r.Cut {
	case "sampled":
		return fmt.Sprintf("%d were drawn at random, and one may have come up more than once", r.Schedules)
	case "schedules":
		return fmt.Sprintf("the search was to end after %d of them", r.Options.MaxSchedules)
	case "budget":
		if r.Schedules == 0 {
			return r.noTime()
		}
		return "the time was up" + after
	case "enough":
		return "what was looked for was found" + after
	case "interrupted":
		return "the search was interrupted" + after
	}
	return "the search was cut off" + after
}

// noTime says what took a budget in which not one order was run: nobody knows that of a search.
func (r Result) noTime() string {
	took := "preparing"
	if r.Probes > 0 {
		took += fmt.Sprintf(", and looking for a wrong one first (%d tries),", r.Probes)
	}
	return fmt.Sprintf("the time was up before the first of them; %s took it: give more than --budget %v", took, r.Options.Budget)
}

// Bounds is what "exhaustive" is to be understood within, in words.
func (r Result) Bounds() string {
	o := r.Options
	text := fmt.Sprintf("%s, %s, %s, %s, statements and commits as steps, PostgreSQL %s, %s",
		count(o.Sessions, "client"), comesAgain(o.AttemptsPerSession), count(o.Crashes, "crash"),
		count(o.LostReplies, "lost reply"), r.ServerVersion, r.Isolation)
	for _, f := range o.Others {
		text += ", beside " + f.Name
	}
	if o.Strategy.WantsDedup {
		text += ", an acquirer that moves money once for each key"
	}
	if !r.Split {
		text += ", a write and its becoming visible as one"
	}
	if r.WholeCommits {
		text += ", a COMMIT's decision and its becoming visible as one"
	}
	if o.Scenario.Model == nil {
		text += ", judged by the invariants alone"
	}
	if o.Instances > 1 {
		text += fmt.Sprintf(", over %d instances", o.Instances)
	}
	if o.Crashes > 0 {
		text += ", nobody dying while it waits"
	}
	if o.Scenario.Acquirer {
		text += ", no capture declined"
	}
	return text + r.time()
}

// comesAgain says how often a client may come, and when it does: one that was told 409 does not.
func comesAgain(each int) string {
	switch text := count(each, "attempt") + " each"; each {
	case 1:
		return text
	case 2:
		return text + " (the second after a death or an error)"
	default:
		return text + " (each after the first after a death or an error)"
	}
}

func count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case what == "crash":
		return fmt.Sprintf("%d crashes", n)
	case what == "lost reply":
		return fmt.Sprintf("%d lost replies", n)
	}
	return fmt.Sprintf("%d %ss", n, what)
}
