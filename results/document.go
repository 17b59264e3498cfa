// Package results is the run document: the one versioned JSON format in which runs are printed, kept and read back. Every
// report is made from it alone, so that an old file can be reported on years later. Its schema is schema.json.
//
// Numbers are numbers, units are in the names, and what is absent is not zero: a pointer or an omitted field says "not measured".
package results

import "time"

// Format names the version of the document.
const Format = "idemlab.results/v1"

// Verdict is what a run came to. A run that ended too early, or did not overlap, is never Held.
type Verdict string

// The verdicts.
const (
	Held         Verdict = "held"
	Violated     Verdict = "violated"
	Inconclusive Verdict = "inconclusive"
)

// Status says how a run ended.
type Status string

// The statuses of a run.
const (
	Complete Status = "complete"
	Aborted  Status = "aborted" // stopped by the user; what it holds was measured
	Errored  Status = "failed"  // an error stopped it; what it holds was measured
)

// Fate is what became of a mutant.
type Fate string

// The fates.
const (
	Killed        Fate = "killed"         // what the strategy claims never to happen was found
	Noticed       Fate = "noticed"        // it could not run, and the lab said why
	Survivor      Fate = "survivor"       // nothing noticed
	NotApplicable Fate = "not applicable" // it changes nothing of what the strategy does
)

// Document is what one command measured.
type Document struct {
	Format   string  `json:"format"`
	Verdict  Verdict `json:"verdict"` // the worst of the runs; held only where there are some, and no interrupt left any out
	ExitCode int     `json:"exit_code"`
	Error    *string `json:"error"` // why the command could not run, or not to its end
	Runs     []Run   `json:"runs"`
	// Skipped are strategies that this server cannot run, which says nothing about them.
	Skipped []Skipped `json:"skipped,omitempty"`
	Sweep   *Sweep    `json:"sweep,omitempty"` // how the runs lie on a grid, where they do
}

// Skipped is a strategy that was asked for and not run.
type Skipped struct {
	Strategy string `json:"strategy"`
	Reason   string `json:"reason"`
}

// Run is one strategy under one engine, or, under storage, one layout of the table.
type Run struct {
	Engine     string    `json:"engine"`
	Scenario   string    `json:"scenario"`
	Strategy   string    `json:"strategy"`         // empty where none was run, as in storage
	Hazard     string    `json:"hazard,omitempty"` // in a grid: what befell the attempts
	Mutant     string    `json:"mutant,omitempty"` // how the strategy was broken on purpose
	Fate       Fate      `json:"fate,omitempty"`   // and what became of that
	Status     Status    `json:"status"`
	StartedAt  time.Time `json:"started_at"`
	DurationMS float64   `json:"duration_ms"`
	Seed       uint64    `json:"seed"`
	Tool       Tool      `json:"tool"`
	Server     Server    `json:"server"`
	Settings   *Settings `json:"settings,omitempty"` // of a race; explore states its bounds instead
	Control    *Control  `json:"control,omitempty"`

	Counts     *Counts        `json:"counts,omitempty"`
	Answers    map[string]int `json:"answers,omitzero"`
	SQLStates  map[string]int `json:"sqlstates,omitzero"`
	Followups  *Followups     `json:"followups,omitempty"`
	Rounds     []Round        `json:"rounds,omitempty"`
	RacingMS   *float64       `json:"racing_ms,omitempty"` // from first attempt let go to last answer, summed over the intents
	Overlap    *Overlap       `json:"overlap,omitempty"`
	Waits      *Waits         `json:"waits,omitempty"`
	Latency    *Latency       `json:"latency,omitempty"`
	Explore    *Explore       `json:"explore,omitempty"`
	Load       *Load          `json:"load,omitempty"`
	Retry      *Retry         `json:"retry,omitempty"`
	Bystander  *Bystander     `json:"bystander,omitempty"`
	Storage    *Storage       `json:"storage,omitempty"`
	Repeats    *Repeats       `json:"repeats,omitempty"`
	Consume    *Consume       `json:"consume,omitempty"`
	Recovery   *Recovery      `json:"recovery,omitempty"`
	Expiry     *Expiry        `json:"expiry,omitempty"`
	Stored     *Stored        `json:"stored,omitempty"`
	Neighbours *Neighbours    `json:"neighbours,omitempty"`

	Anomalies []Anomaly `json:"anomalies"`
	Verdict   Verdict   `json:"verdict"`
	Reason    string    `json:"reason"`   // in words, where the verdict needs some
	Expected  Verdict   `json:"expected"` // what the strategy claims, or --expect
	ExitCode  int       `json:"exit_code"`

	Gates    []Gate    `json:"gates,omitempty"`
	Baseline *Baseline `json:"baseline,omitempty"`
	// ClaimExitCode is what ExitCode was before gates or a baseline changed it; absent where there were none.
	ClaimExitCode *int `json:"claim_exit_code,omitempty"`
}

// Tool is what measured.
type Tool struct {
	Version string `json:"version"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	CPUs    int    `json:"cpus"`
}

// Server is what was measured on.
type Server struct {
	Version    string            `json:"version"`
	Source     string            `json:"source"` // where the connection came from: "embedded", "--dsn", "DATABASE_URL", …
	Isolation  string            `json:"isolation"`
	Settings   map[string]string `json:"settings"`
	NotDurable string            `json:"not_durable,omitempty"` // why commits are faster here than on a server that keeps them
}

// Capture is the effect of settings that name none: it came first, and documents from before there was another say nothing.
const Capture = "capture"

// Settings is how the run was asked for.
type Settings struct {
	AttemptsPerIntent int     `json:"attempts_per_intent"`
	Intents           int     `json:"intents"` // per round
	Rounds            int     `json:"rounds"`
	Effect            string  `json:"effect,omitempty"` // what must happen once; absent where it is a capture
	*AcquirerSettings         // absent in scenarios without one
	LeaseMS           float64 `json:"lease_ms,omitempty"` // as set; absent where each strategy has its own
	Instances         int     `json:"instances"`
	Pool              int     `json:"pool"`             // connections of each instance
	Schema            string  `json:"schema,omitempty"` // the file given with --schema
}

// AcquirerSettings is how the acquirer was asked for.
type AcquirerSettings struct {
	AcquirerLatencyMS float64 `json:"acquirer_latency_ms"`      // the mean
	AcquirerLatency   string  `json:"acquirer_latency"`         // as typed
	AcquirerDedup     bool    `json:"acquirer_dedup,omitempty"` // the acquirer moved money once for each key, whatever it was told
	DeclineShare      float64 `json:"decline_share"`
}

// Control is the violation forced beforehand: proof, on this server, that the run would have seen one.
type Control struct {
	Ran           bool   `json:"ran"`
	Strategy      string `json:"strategy"`
	*ForcedCharge        // where money moves at the acquirer
	Anomaly       string `json:"anomaly,omitempty"` // elsewhere: the worst that the control was caught at
	Shared        bool   `json:"shared,omitempty"`  // forced once for several runs of the command, before the first of them
}

// ForcedCharge is what the acquirer was told under force.
type ForcedCharge struct {
	Captures      int  `json:"captures"`
	DoubleCharged bool `json:"double_charged"`
}

// Caught says whether the control did the wrong that it is there for.
func (c Control) Caught() bool { return c.Anomaly != "" || c.ForcedCharge != nil && c.DoubleCharged }

// Counts are what was asked, and what came of it.
type Counts struct {
	Intents         int  `json:"intents"`
	IntentsCharged  *int `json:"intents_charged,omitempty"`   // whose capture was approved, once or more
	Attempts        int  `json:"attempts"`                    // without the follow-ups
	AttemptsGivenUp *int `json:"attempts_given_up,omitempty"` // of a race: ended because they had lasted too long; absent in older documents
	*AcquirerCounts      // absent, as the count of those charged, in scenarios without an acquirer
	// Measures are the scenario's own; names that end in _cents are money.
	Measures map[string]int64 `json:"measures,omitempty"`
}

// AcquirerCounts are what the acquirer was told, what the table says, and the money.
type AcquirerCounts struct {
	CaptureRequests       int  `json:"capture_requests"`
	Captures              int  `json:"captures"`
	Declines              int  `json:"declines"`
	DuplicateCaptures     int  `json:"duplicate_captures"`
	IntentsDoubleCharged  int  `json:"intents_double_charged"`
	Rows                  *int `json:"rows,omitempty"` // these four are absent where the table could not be read
	DuplicateRows         *int `json:"duplicate_rows,omitempty"`
	Orphans               *int `json:"orphans,omitempty"`
	ChargedWithoutRecord  *int `json:"charged_without_record,omitempty"`
	AnsweredWithoutCharge int  `json:"answered_without_charge"`
	*MoneyCounts               // absent where what must happen once moves no money
}

// MoneyCounts are what the intents came to.
type MoneyCounts struct {
	OwedCents     int64 `json:"owed_cents"` // one charge per intent whose capture was approved
	CapturedCents int64 `json:"captured_cents"`
}

// Followups are the attempts sent after each race, when nothing was in flight: a repeat, which must be replayed with the same
// bytes; one with another amount, which must be refused; and another charge of the same order under a new key, which must be
// charged. That one's capture and row stand in no count.
type Followups struct {
	Repeats           int `json:"repeats"`
	ReplayedSameBytes int `json:"replayed_same_bytes"`
	Mismatches        int `json:"mismatches"`
	Refused           int `json:"refused"`
	*OtherCharges         // absent in documents from before it was tried
}

// OtherCharges are charges of an order that has been charged before: as legitimate as the first.
type OtherCharges struct {
	Others        int `json:"others"`
	OthersCharged int `json:"others_charged"`
}

// Round is one pass over the intents.
type Round struct {
	Intents         int  `json:"intents"`
	*RoundCharges        // absent in scenarios without an acquirer
	IntentsViolated *int `json:"intents_violated,omitempty"` // in which an anomaly was found that counts; absent in older documents
}

// RoundCharges are what the acquirer did in a round.
type RoundCharges struct {
	Captures             int `json:"captures"`
	DuplicateCaptures    int `json:"duplicate_captures"`
	IntentsDoubleCharged int `json:"intents_double_charged"`
}

// Overlap is the proof that attempts raced. In flight is from the first statement sent to the answer: queueing for a pool
// connection does not count.
type Overlap struct {
	MaxInFlight       int   `json:"max_in_flight"`
	ReleaseSkewUS     int64 `json:"release_skew_us"` // widest gap, over the intents, between first and last attempt leaving the gate
	IntentsOverlapped int   `json:"intents_overlapped"`
}

// Waits are who waited, and for what.
type Waits struct {
	Lock     LockWaits    `json:"lock"`
	Pool     Distribution `json:"pool"` // for a connection, where the pool had none free
	Events   []Event      `json:"events"`
	Sampling *Sampling    `json:"sampling,omitempty"`
	Blocked  []Blocked    `json:"blocked,omitempty"` // the longest, at most 200
}

// LockWaits are statements that the server was seen to block on transactionid, tuple, advisory or spectoken; the times are
// the server's. Client is the same statements from start to end as the client saw them: the difference is queueing for CPU.
type LockWaits struct {
	Distribution
	Client *Distribution `json:"client,omitempty"`
}

// Event is one wait event as pg_stat_activity names it, with everything that was sampled.
type Event struct {
	Event      string `json:"event"` // "Lock/transactionid"
	Samples    int    `json:"samples"`
	MaxWaiters int    `json:"max_waiters"`
}

// Sampling is what looking cost.
type Sampling struct {
	IntervalMS float64 `json:"interval_ms"`
	Polls      int     `json:"polls"`
	PollMeanMS float64 `json:"poll_mean_ms"`
	PollMaxMS  float64 `json:"poll_max_ms"`
}

// Blocked is one statement that waited for a lock.
type Blocked struct {
	Waiter   string  `json:"waiter"` // "intent 3 attempt 17"
	Step     string  `json:"step"`   // "claim"
	Event    string  `json:"event"`
	For      string  `json:"for"` // who held it: "intent 3 attempt 2", or a process id where it was nobody of ours
	ServerMS float64 `json:"server_ms"`
	ClientMS float64 `json:"client_ms"`
}

// Anomaly is one finding of one intent.
type Anomaly struct {
	Kind     string `json:"kind"`
	Intent   string `json:"intent"`
	Captures *int   `json:"captures,omitempty"` // absent in scenarios without an acquirer
	Judged   bool   `json:"judged"`             // false where the strategy claims nothing about it
	Detail   string `json:"detail"`
}
