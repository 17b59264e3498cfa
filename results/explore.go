package results

// Explore is what a search through the orders of events found.
type Explore struct {
	Sessions           int `json:"sessions"`
	AttemptsPerSession int `json:"attempts_per_session"`
	Crashes            int `json:"crashes"`      // at most, in one schedule
	LostReplies        int `json:"lost_replies"` // at most, in one schedule
	Instances          int `json:"instances"`    // over which the sessions were dealt
	// Beside are the jobs that ran beside the sessions, each in one more of its own.
	Beside      []string `json:"beside,omitempty"`
	Schema      string   `json:"schema,omitempty"`   // the file given with --schema
	LeaseMS     float64  `json:"lease_ms,omitempty"` // as set; absent where each strategy has its own
	Hard        bool     `json:"hard"`               // a crash closes the socket
	Search      string   `json:"search"`             // dpor, full, random; replay where one schedule was asked for
	Split       bool     `json:"split"`              // a write outside a transaction is two steps
	SplitCommit bool     `json:"split_commit"`       // so is the COMMIT of a SERIALIZABLE transaction

	WholeCommits bool `json:"whole_commits"` // such COMMITs were there and stayed one step: to split them takes a server of its own
	// ReadsClock: the strategy, or SQL of its, asked what time it is; what time brings about, such as the end of a lease, is no step.
	ReadsClock bool `json:"reads_clock,omitempty"`

	Schedules    int    `json:"schedules"` // run and judged; one for each class of equivalent orders under dpor
	Violating    int    `json:"violating"`
	BlockedSteps int    `json:"blocked_steps"`
	Divergences  int    `json:"divergences"` // executions that did not repeat themselves, and were run again
	Coverage     string `json:"coverage"`    // exhaustive, cut, sampled, one schedule
	Bounds       string `json:"bounds"`      // what exhaustive is to be understood within, in words
	// OrdersEstimate is about how many schedules there are within the bounds, by the random walks that were made; absent from other searches.
	OrdersEstimate     *float64 `json:"orders_estimate,omitempty"`
	SchedulesPerSecond float64  `json:"schedules_per_second"`
	Fingerprint        string   `json:"fingerprint,omitempty"` // of every step, result, wait, wake-up and answer, in order

	Outcomes          []Outcome   `json:"outcomes"`
	ShortestViolation *Violation  `json:"shortest_violation,omitempty"`
	Violations        []Violation `json:"violations"` // the shortest for each anomaly, worst first
	Trace             *Trace      `json:"trace,omitempty"`
	Likely            *Likely     `json:"likely,omitempty"`
}

// Outcome is one way for a schedule to end, and in how many schedules it did.
type Outcome struct {
	Captures  *int     `json:"captures,omitempty"` // absent in scenarios without an acquirer
	Answers   []string `json:"answers"`            // the last of each client, sorted
	Anomalies []string `json:"anomalies"`
	Rows      []string `json:"rows,omitempty"` // what was left, in scenarios without an acquirer
	Schedules int      `json:"schedules"`
}

// Violation is a schedule in which an anomaly shows.
type Violation struct {
	Schedule string `json:"schedule"` // "A:check B:check A:capture …"
	Short    string `json:"short"`    // "ABA…"
	Anomaly  string `json:"anomaly"`
	Detail   string `json:"detail"`
	Faults   int    `json:"faults"`
	Switches int    `json:"switches"`
	Minimal  bool   `json:"minimal"` // every schedule with fewer faults, or as many and fewer switches, was run without it
}

// Likely is how often free-running attempts came to a double charge, or whatever else the scenario forbids: a search says whether, a race how likely.
type Likely struct {
	Attempts      int  `json:"attempts"` // at each intent, at once
	Intents       int  `json:"intents"`
	DoubleCharged *int `json:"double_charged,omitempty"`
	Violated      *int `json:"violated,omitempty"` // intents that went wrong, in scenarios without an acquirer
}

// Trace is one schedule, turn by turn: what a picture of it needs.
type Trace struct {
	Schedule string   `json:"schedule"`
	Short    string   `json:"short"`
	Prepared []string `json:"prepared,omitempty"` // what was sent beforehand, for rows that the strategy expects
	// AmountCents is what one capture moves.
	AmountCents int64    `json:"amount_cents"`
	Sessions    []string `json:"sessions"` // what each runs: "client", or the name of another function; they are called A, B, …
	Turns       []Turn   `json:"turns"`
}

// Kinds of turns.
const (
	TurnStep        = "step"
	TurnLostRequest = "lost request"
	TurnLostReply   = "lost reply"
	TurnDies        = "dies"
	TurnAnswer      = "answer"
)

// Turn is what one session did, and what came of it.
type Turn struct {
	Session  string   `json:"session"` // "A"
	Kind     string   `json:"kind"`
	Attempt  int      `json:"attempt"` // of the session, from 1
	Step     string   `json:"step"`    // "claim"
	SQL      string   `json:"sql,omitempty"`
	Sent     []string `json:"sent,omitempty"`   // what went to the server for it, with the arguments as literals
	Result   string   `json:"result,omitempty"` // "1 row", "ERROR 40001"; absent while it waits
	WaitsFor []string `json:"waits_for,omitempty"`
	Woke     []Woken  `json:"woke,omitempty"`
	Answers  []Told   `json:"answers,omitempty"`
	Captures int      `json:"captures"`         // by the acquirer, so far
	Wishes   int      `json:"wishes,omitempty"` // how many were charged so far, where more than one: captures beyond them are too many
	Table    []string `json:"table,omitempty"`  // committed rows, seen from outside after the turn: "#1 PROCESSANDO"
}

// Woken is a waiting step that came back because of a turn.
type Woken struct {
	Session string `json:"session"`
	Step    string `json:"step"`
	Result  string `json:"result"`
}

// Told is what a client was told in a turn.
type Told struct {
	Session  string `json:"session"`
	Attempt  int    `json:"attempt"`
	Answer   string `json:"answer"` // empty where the attempt died
	Died     bool   `json:"died"`
	HTTP     int    `json:"http,omitempty"`
	SQLState string `json:"sqlstate,omitempty"`
}
